// A reader of Python pickles that can construct only dicts, lists, tuples, numbers, strings and
// tensors. It supports the instructions that torch.save uses (protocol 2).

#include "frontends/pt2/pickled_tensors.h"

#include "frontends/pt2/tensor_meta.h"
#include "frontends/torchscript/archive_check.h"
#include "sparsebit/core/error.h"
#include "sparsebit/io/zip_archive.h"

#include <ATen/ATen.h>

#include <bit>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <variant>
#include <vector>

namespace sparsebit::frontends::pt2 {
namespace {

struct Pickled;
using Items = std::vector<Pickled>;

struct Global {
  std::string name;
};
struct Storage {
  at::Tensor bytes;
  at::ScalarType dtype;
};
/// Keys and values alternate.
struct Dict {
  std::shared_ptr<Items> items = std::make_shared<Items>();
};
struct Sequence {
  std::shared_ptr<Items> items = std::make_shared<Items>();
};

struct Pickled {
  std::variant<std::monostate, int64_t, double, std::string, Global, Storage, at::Tensor, Dict,
               Sequence>
      data;
};

at::ScalarType storage_type(const std::string& name) {
  static const std::map<std::string, at::ScalarType> types = {
      {"torch.FloatStorage", at::kFloat},
      {"torch.DoubleStorage", at::kDouble},
      {"torch.HalfStorage", at::kHalf},
      {"torch.BFloat16Storage", at::kBFloat16},
      {"torch.LongStorage", at::kLong},
      {"torch.IntStorage", at::kInt},
      {"torch.ShortStorage", at::kShort},
      {"torch.CharStorage", at::kChar},
      {"torch.ByteStorage", at::kByte},
      {"torch.BoolStorage", at::kBool},
      {"torch.ComplexFloatStorage", at::kComplexFloat},
      {"torch.ComplexDoubleStorage", at::kComplexDouble}};
  const auto found = types.find(name);
  SPARSEBIT_CHECK(found != types.end(), Unsupported, "a tensor of class ", name,
                  " is not supported");
  return found->second;
}

class PickleReader {
 public:
  PickleReader(const io::ZipArchive& archive, std::string folder, std::string pickle)
      : archive_(archive), folder_(std::move(folder)), pickle_(std::move(pickle)), rest_(pickle_) {}

  Pickled read() {
    while (true) {
      const char code = take(1)[0];
      if (code == '.') return pop();
      step(code);
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorKind::InvalidModel, "its pickled tensors are damaged");
  }

  std::string_view take(size_t count) {
    if (count > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string line() {
    const size_t end = rest_.find('\n');
    if (end == std::string_view::npos) fail();
    std::string result(take(end));
    take(1);
    return result;
  }

  void push(decltype(Pickled::data) value) { stack_.push_back({std::move(value)}); }
  Pickled pop() {
    if (stack_.empty()) fail();
    Pickled value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }
  Items pop_many(size_t count) {
    if (count > stack_.size()) fail();
    Items items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }
  Items pop_marked() {
    if (marks_.empty() || marks_.back() > stack_.size()) fail();
    const size_t mark = marks_.back();
    marks_.pop_back();
    return pop_many(stack_.size() - mark);
  }
  template <class T>
  T as(const Pickled& value) const {
    if (!std::holds_alternative<T>(value.data)) fail();
    return std::get<T>(value.data);
  }
  void push_tuple(Items items) { push(Sequence{std::make_shared<Items>(std::move(items))}); }

  void step(char code) {
    switch (code) {
      case '\x80':
        take(1);
        return;
      case '(':
        return marks_.push_back(stack_.size());
      case ']':
      case ')':
        return push(Sequence{});
      case '}':
        return push(Dict{});
      case 'N':
        return push(std::monostate{});
      case '\x88':
        return push(int64_t{1});
      case '\x89':
        return push(int64_t{0});
      case 'K':
        return push(int64_t{number<uint8_t>()});
      case 'M':
        return push(int64_t{number<uint16_t>()});
      case 'J':
        return push(int64_t{number<int32_t>()});
      case 'G':
        return push(std::bit_cast<double>(__builtin_bswap64(number<uint64_t>())));
      case 'X':
        return push(std::string(take(number<uint32_t>())));
      case 'c': {
        const std::string space = line();
        return push(Global{space + "." + line()});
      }
      default:
        return step_on_stack(code);
    }
  }

  void step_on_stack(char code) {
    switch (code) {
      case 'q':
        return remember(number<uint8_t>());
      case 'r':
        return remember(number<uint32_t>());
      case 'h':
        return recall(number<uint8_t>());
      case 'j':
        return recall(number<uint32_t>());
      case '\x85':
        return push_tuple(pop_many(1));
      case '\x86':
        return push_tuple(pop_many(2));
      case '\x87':
        return push_tuple(pop_many(3));
      case 't':
        return push_tuple(pop_marked());
      case 's':
        return add_to_dict(pop_many(2));
      case 'u':
        return add_to_dict(pop_marked());
      case 'e': {
        const Items items = pop_marked();
        const Sequence list = as<Sequence>(top());
        list.items->insert(list.items->end(), items.begin(), items.end());
        return;
      }
      case 'Q':
        return push(load_storage(*as<Sequence>(pop()).items));
      case 'b':  // attributes of a dict or a parameter, which are ignored
        pop();
        return;
      case 'R': {
        const Items args = *as<Sequence>(pop()).items;
        return call(as<Global>(pop()).name, args);
      }
      default:
        fail();
    }
  }

  const Pickled& top() const {
    if (stack_.empty()) fail();
    return stack_.back();
  }
  void remember(uint32_t place) { places_[place] = top(); }
  void recall(uint32_t place) {
    const auto found = places_.find(place);
    if (found == places_.end()) fail();
    stack_.push_back(found->second);
  }
  void add_to_dict(const Items& items) {
    const Dict dict = as<Dict>(top());
    if (items.size() % 2 != 0) fail();
    dict.items->insert(dict.items->end(), items.begin(), items.end());
  }

  /// ('storage', class, key, device, count)
  Storage load_storage(const Items& id) {
    if (id.size() < 5) fail();
    const at::ScalarType dtype = storage_type(as<Global>(id[1]).name);
    const std::string key = as<std::string>(id[2]);
    at::Tensor& bytes = storages_[key];
    if (!bytes.defined()) {
      const io::ZipArchive::Record* record = archive_.find(folder_ + "data/" + key);
      SPARSEBIT_CHECK(record, InvalidModel, "record 'data/", key, "' of its tensors is missing");
      bytes = at::empty({static_cast<int64_t>(record->size)}, at::kByte);
      archive_.read(*record, {static_cast<char*>(bytes.data_ptr()), record->size});
    }
    return {bytes, dtype};
  }

  std::vector<int64_t> integers(const Pickled& value) const {
    std::vector<int64_t> result;
    for (const Pickled& item : *as<Sequence>(value).items) result.push_back(as<int64_t>(item));
    return result;
  }

  void call(const std::string& name, const Items& args) {
    if (name == "collections.OrderedDict" && args.empty()) return push(Dict{});
    if (name == "torch._utils._rebuild_parameter" && !args.empty())
      return push(as<at::Tensor>(args[0]));
    SPARSEBIT_CHECK(name == "torch._utils._rebuild_tensor_v2", Unsupported,
                    "its pickled tensors contain an object of ", name,
                    ", and only plain tensors are supported");
    if (args.size() < 4) fail();
    const Storage storage = as<Storage>(args[0]);
    push(strided_tensor(storage.bytes,
                        {storage.dtype, integers(args[2]), integers(args[3]), as<int64_t>(args[1])},
                        "of a pickle"));
  }

  const io::ZipArchive& archive_;
  const std::string folder_;
  const std::string pickle_;
  std::string_view rest_;
  Items stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, Pickled> places_;
  std::unordered_map<std::string, at::Tensor> storages_;
};

}  // namespace

std::map<std::string, at::Tensor> read_pickled_tensors(std::string_view bytes,
                                                       const std::string& file) {
  const io::ZipArchive archive(bytes, file);
  const std::string_view name = "data.pkl";
  for (const io::ZipArchive::Record& entry : archive.records()) {
    if (!entry.name.ends_with(name)) continue;
    std::string pickle = archive.read(entry);
    const std::string problem = torchscript::pickle_problem(pickle);
    SPARSEBIT_CHECK(problem.empty(), InvalidModel, "its pickled tensors are damaged: ", problem);
    const std::string folder = entry.name.substr(0, entry.name.size() - name.size());
    const Pickled result = PickleReader(archive, folder, std::move(pickle)).read();
    const Dict* dict = std::get_if<Dict>(&result.data);
    SPARSEBIT_CHECK(dict, InvalidModel, "its pickled tensors are not a dict");
    std::map<std::string, at::Tensor> tensors;
    for (size_t i = 0; i + 1 < dict->items->size(); i += 2) {
      const auto* key = std::get_if<std::string>(&(*dict->items)[i].data);
      const auto* tensor = std::get_if<at::Tensor>(&(*dict->items)[i + 1].data);
      if (key && tensor) tensors.emplace(*key, *tensor);
    }
    return tensors;
  }
  throw Error(ErrorKind::InvalidModel, "its tensors were not written by torch.save");
}

}  // namespace sparsebit::frontends::pt2
