// Sound archives whose code is edited word by word and line by line: what no damaged byte gets to,
// because the checksums are right and the code nearly is.

#include "fuzz/choices.h"
#include "fuzz/input_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/log.h"
#include "sparsebit/frontends/torchscript.h"

#include <caffe2/serialize/inline_container.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>
#include <vector>

namespace {

using namespace std::string_literals;
using sparsebit::fuzz::Choices;

/// Records of an archive by name.
using Records = std::map<std::string, std::string>;

/// Code that the test files lack: a base of each kind, defaults, constants of each type.
Records made_archive() {
  const std::string code = R"(class Pair(NamedTuple):
  first : Tensor
  second : int
class Color(Enum):
  RED = 1
  BLUE = 2
class Step(ModuleInterface):
  def step(self,
    x: Tensor) -> Tensor:
    pass
class Counter:
  n : int
  def add(self: __torch__.Counter,
    by: int=1) -> int:
    return torch.add(self.n, by)
class M(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  __annotations__ = []
  __annotations__["0"] = Optional[Tensor]
  weight : Optional[Tensor]
  training : bool
  sizes : Final[List[int]] = [1, 2]
  name : Final[str] = "relu"
  limit : Final[Optional[float]] = None
  def forward(self: __torch__.M,
    x: Tensor,
    more: Optional[Tensor]=None,
    scale: float=0.5,
    sizes: List[int]=[1, 2]) -> Tensor:
    y = uninitialized(Tensor)
    pair = __torch__.Pair(x, 2)
    items = annotate(List[Tensor], [])
    for i in range(3):
      _0 = torch.append(items, x)
    if torch.__isnot__(more, None):
      y = unchecked_cast(Tensor, more)
    else:
      y = __torch__.helper(x, )
    a, b, = (x, y)
    named = {"x": a, "y": b}
    _1 = named["x"]
    n = torch.len(items)
    _2 = (self).scaled(torch.cat(items, 0), scale, )
    while torch.lt(n, 5):
      n = torch.add(n, 1)
    if self.training:
      ops.prim.RaiseException("no")
    _3 = torch.slice(x, 0, 0, 9223372036854775807, 1)
    return torch.add(torch.mul(_2, -1.5), (pair).first, alpha=1)
  def scaled(self: __torch__.M,
    x: Tensor,
    scale: float) -> Tensor:
    return torch.mul(x, scale)
def helper(x: Tensor,
    device: Device=torch.device("cpu"),
    values: Dict[str, int]=annotate(Dict[str, int], {}),
    counter: Optional[__torch__.Counter]=None,
    color: Optional[__torch__.Color]=None,
    step: Optional[__torch__.Step]=None) -> Tensor:
  return torch.relu(x)
)";
  const auto text = [](const std::string& value) {
    return "X" + std::string(1, static_cast<char>(value.size())) + "\0\0\0"s + value;
  };
  return {{"code/__torch__.py", code},
          {"constants.pkl", "\x80\x02)."s},
          {"data.pkl", "\x80\x02"s + "c__torch__\nM\n)\x81}(" + text("weight") + "N" +
                           text("training") + "\x89" + text("0") + "Nub."}};
}

Records read_archive(const std::string& path) {
  caffe2::serialize::PyTorchStreamReader reader(path);
  Records records;
  for (const std::string& name : reader.getAllRecords()) {
    if (name == "version" || name == ".data/version" || name.ends_with(".debug_pkl")) continue;
    const auto [data, size] = reader.getRecord(name);
    records[name].assign(static_cast<const char*>(data.get()), size);
  }
  return records;
}

const std::vector<Records>& archives() {
  static const std::vector<Records> all = [] {
    std::vector<Records> read = {made_archive()};
    for (const char* name : {"branches.scripted", "containers.scripted", "containers.traced",
                             "functions.traced", "stateful", "data_dependent", "residual.scripted"})
      read.push_back(read_archive(TORCHSCRIPT_FIXTURES "/"s + name + ".pt"));
    return read;
  }();
  return all;
}

constexpr std::array kWords = {"class",
                               "def",
                               "Module",
                               "NamedTuple",
                               "Enum",
                               "Interface",
                               "ModuleInterface",
                               "(",
                               ")",
                               "[",
                               "]",
                               "{",
                               "}",
                               ",",
                               ":",
                               "=",
                               "->",
                               ".",
                               "+",
                               "-",
                               "*",
                               "**",
                               "@",
                               "%",
                               "<",
                               "==",
                               "<<",
                               "&",
                               "|",
                               "~",
                               "not",
                               "and",
                               "or",
                               "is",
                               "in",
                               "if",
                               "else",
                               "elif",
                               "for",
                               "while",
                               "return",
                               "pass",
                               "break",
                               "continue",
                               "raise",
                               "assert",
                               "del",
                               "with",
                               "as",
                               "global",
                               "lambda",
                               "import",
                               "self",
                               "x",
                               "y",
                               "_0",
                               "None",
                               "True",
                               "False",
                               "NoneType",
                               "Tensor",
                               "int",
                               "float",
                               "bool",
                               "str",
                               "complex",
                               "Device",
                               "Any",
                               "Optional",
                               "List",
                               "Dict",
                               "Tuple",
                               "Union",
                               "Future",
                               "RRef",
                               "Final",
                               "BroadcastingList2",
                               "number",
                               "Scalar",
                               "Generator",
                               "Stream",
                               "__parameters__",
                               "__buffers__",
                               "__annotations__",
                               "__forward_hooks__",
                               "__forward_pre_hooks__",
                               "op_version_set",
                               "__torch__",
                               "torch",
                               "ops",
                               "prim",
                               "aten",
                               "CONSTANTS",
                               "c0",
                               "annotate",
                               "uninitialized",
                               "unchecked_cast",
                               "fork",
                               "wait",
                               "awaitable",
                               "isinstance",
                               "getattr",
                               "hasattr",
                               "len",
                               "range",
                               "enumerate",
                               "zip",
                               "tuple",
                               "list",
                               "dict",
                               "set",
                               "super",
                               "print",
                               "min",
                               "max",
                               "inf",
                               "nan",
                               "add",
                               "relu",
                               "cat",
                               "append",
                               "device",
                               "zeros",
                               "reshape",
                               "slice",
                               "training",
                               "weight",
                               "forward",
                               "0",
                               "1",
                               "-1",
                               "2",
                               "1.5",
                               "1e400",
                               "2j",
                               "9223372036854775807",
                               "99999999999999999999",
                               "\"\"",
                               "\"x\"",
                               "'\\x'",
                               "\"\\777\"",
                               "\"\"\"",
                               "# type: (Tensor) -> Tensor",
                               "#",
                               "...",
                               "\n",
                               "\n  ",
                               "\n    ",
                               "\n      ",
                               ";",
                               "\\",
                               "\t"};

/// A line's end goes with the blanks of the next line.
std::vector<std::string> words_of(std::string_view code) {
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  const auto is_blank = [](char c) { return c == ' '; };
  std::vector<std::string> words;
  for (size_t at = 0; at < code.size();) {
    const auto begin = code.begin() + static_cast<ptrdiff_t>(at);
    auto end = begin + 1;
    if (is_name(*begin)) end = std::find_if_not(begin, code.end(), is_name);
    if (*begin == '\n' || *begin == ' ') end = std::find_if_not(end, code.end(), is_blank);
    if (*begin == '"') end = std::find(end, code.end(), '"');
    if (end != code.end() && *begin == '"') ++end;
    words.emplace_back(begin, end);
    at = static_cast<size_t>(end - code.begin());
  }
  return words;
}

using Words = std::vector<std::string>;

/// From the start of a line to that of the next one.
std::pair<ptrdiff_t, ptrdiff_t> line_around(const Words& words, size_t at) {
  const auto is_start = [](const std::string& word) { return word.front() == '\n'; };
  ptrdiff_t begin = static_cast<ptrdiff_t>(at);
  while (begin > 0 && !is_start(words[static_cast<size_t>(begin)])) --begin;
  const auto end = std::find_if(words.begin() + begin + 1, words.end(), is_start);
  return {begin, end - words.begin()};
}

void edit_words(Words& words, size_t edit, size_t at, Choices& choices) {
  const auto place = words.begin() + static_cast<ptrdiff_t>(at);
  const auto other = [&] { return choices.one_of(words); };
  switch (edit) {
    case 0:
      *place = choices.one_of(kWords);
      return;
    case 1:
      words.erase(place);
      return;
    case 2:
      words.insert(place, choices.one_of(kWords));
      return;
    case 3:
      *place = other();
      return;
    case 4:
      words.insert(place, other());
      return;
    default:
      std::swap(*place, words[choices.below(words.size())]);
  }
}

void edit_lines(Words& words, size_t edit, size_t at, Choices& choices) {
  const auto [begin, end] = line_around(words, at);
  const Words line(words.begin() + begin, words.begin() + end);
  switch (edit) {
    case 0:  // delete it
      words.erase(words.begin() + begin, words.begin() + end);
      return;
    case 1:  // twice
      words.insert(words.begin() + end, line.begin(), line.end());
      return;
    case 2:  // also elsewhere
      words.insert(words.begin() + line_around(words, choices.below(words.size())).first,
                   line.begin(), line.end());
      return;
    default:  // up to its `=` or `:` only
      for (ptrdiff_t i = begin; i < end; ++i) {
        const std::string& word = words[static_cast<size_t>(i)];
        if (word != "=" && word != ":") continue;
        words.erase(words.begin() + i, words.begin() + end);
        return;
      }
  }
}

std::string edited(const std::string& code, Choices& choices) {
  constexpr size_t kMostEdits = 12, kWordEdits = 6, kLineEdits = 4;
  Words words = words_of(code);
  for (size_t i = 0; i < kMostEdits && choices.more() && !words.empty(); ++i) {
    const size_t edit = choices.below(kWordEdits + kLineEdits), at = choices.below(words.size());
    if (edit < kWordEdits) {
      edit_words(words, edit, at, choices);
    } else {
      edit_lines(words, edit - kWordEdits, at, choices);
    }
  }
  std::string text;
  for (const std::string& word : words) text += word;
  return text;
}

/// One record of code has all edits, or, now and then, each a few.
void edit_code(Records& records, Choices& choices) {
  Words names;
  for (const auto& [name, bytes] : records) {
    if (name.ends_with(".py")) names.push_back(name);
  }
  do {
    std::string& code = records[names[choices.below(names.size())]];
    code = edited(code, choices);
  } while (choices.more());
}

std::string as_archive(const Records& records) {
  std::string bytes;
  caffe2::serialize::PyTorchStreamWriter writer([&bytes](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  for (const auto& [name, record] : records) writer.writeRecord(name, record.data(), record.size());
  writer.writeEndOfFile();
  return bytes;
}

void import(const Records& records) {
  const std::string bytes = as_archive(records);
  const sparsebit::fuzz::InputFile file(reinterpret_cast<const uint8_t*>(bytes.data()),
                                        bytes.size());
  sparsebit::frontends::import_torchscript(file.path());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sparsebit::set_log_level(sparsebit::LogLevel::Off);
  // Seeds must be valid: an error ends the program here.
  [[maybe_unused]] static const bool sound = (import(made_archive()), true);
  Choices choices(data, size);
  Records records = archives()[choices.below(archives().size())];
  edit_code(records, choices);
  try {
    import(records);
  } catch (const sparsebit::Error&) {  // what a bad file should end in; all else is a finding
  }
  return 0;
}
