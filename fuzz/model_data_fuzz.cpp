// Samples for a model of several inputs: archives, folders, texts and manifests that are nearly
// right, made from the fuzzer's decisions, so that more than the first parser sees them.

#include "fuzz/choices.h"
#include "sparsebit/core/error.h"
#include "sparsebit/data/input_check.h"
#include "sparsebit/data/open_data.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

namespace {

namespace fs = std::filesystem;
using namespace sparsebit::data;
using namespace std::string_literals;
using sparsebit::fuzz::Choices;

constexpr std::array kInputs = {
    "image", "size", "x", "input_ids", "attention_mask", "token_type_ids", "position_ids", "a/b"};

// --- files ---------------------------------------------------------------------------------------

std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value);
  return text;
}

/// A .npy file, with as many bytes as it says, mostly.
std::string array(Choices& choices) {
  using Type = std::pair<const char*, size_t>;  // and its bytes
  constexpr std::array kTypes = {Type{"<f4", 4}, Type{"<i8", 8}, Type{"|u1", 1}, Type{"|b1", 1},
                                 Type{"<f2", 2}, Type{"<f8", 8}, Type{"<i4", 4}, Type{"|i1", 1},
                                 Type{">f4", 4}, Type{"<c8", 8}, Type{"|O", 8},  Type{"<U3", 12},
                                 Type{"<i2", 2}, Type{"<u4", 4}};
  constexpr std::array kSizes = {"3", "2", "1", "4", "8", "0", "-1", "32", "99999999999"};
  constexpr std::array kBytes = {size_t{0}, size_t{1}, size_t{2}, size_t{4}, size_t{12}};
  const auto [type, width] = choices.one_of(kTypes);
  std::string shape;
  size_t elements = 1;
  for (size_t axes = choices.below(6); axes > 0; --axes) {
    const std::string size = choices.one_of(kSizes);
    shape += size + ", ";
    elements =
        std::min<size_t>(elements * static_cast<size_t>(std::abs(std::atoi(size.c_str()))), 4096);
  }
  std::string header = "{'descr': '"s + type +
                       "', 'fortran_order': " + (choices.below(4) == 3 ? "True" : "False") +
                       ", 'shape': (" + shape + "), }";
  header.resize((header.size() + 10 + 64) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY\x01\x00"s + little_endian(header.size(), 2) + header;
  const auto fill = static_cast<char>(choices.byte());
  return bytes +
         std::string(elements * width + (choices.below(8) == 7 ? choices.one_of(kBytes) : 0), fill);
}

uint32_t checksum(const std::string& bytes) {
  uint32_t sum = ~0U;
  for (const char c : bytes) {
    sum ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320U : 0);
  }
  return ~sum;
}

/// A zip archive without compression.
std::string archive(Choices& choices) {
  std::string files, table;
  uint64_t count = choices.below(5);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string name =
        choices.below(5) == 4 ? "labels.npy"s : choices.one_of(kInputs) + ".npy"s;
    const std::string bytes = array(choices);
    const std::string facts = little_endian(20, 2) + little_endian(0, 8) +
                              little_endian(checksum(bytes), 4) + little_endian(bytes.size(), 4) +
                              little_endian(bytes.size(), 4) + little_endian(name.size(), 2) +
                              little_endian(0, 2);
    table += "PK\x01\x02" + little_endian(20, 2) + facts + little_endian(0, 10) +
             little_endian(files.size(), 4) + name;
    files += "PK\x03\x04" + facts + name + bytes;
  }
  return files + table + "PK\x05\x06" + little_endian(0, 4) + little_endian(count, 2) +
         little_endian(count, 2) + little_endian(table.size(), 4) + little_endian(files.size(), 4) +
         little_endian(0, 2);
}

/// A bitmap of a few pixels, or one that says it has others.
std::string bitmap(Choices& choices) {
  constexpr std::array kSides = {2U, 1U, 8U, 40U, 0U, 70000U, 4294967295U};
  const uint32_t width = choices.one_of(kSides), height = choices.one_of(kSides);
  const std::string pixels(3 * 64 + choices.byte(), static_cast<char>(choices.byte()));
  return "BM" + little_endian(54 + pixels.size(), 4) + little_endian(0, 4) + little_endian(54, 4) +
         little_endian(40, 4) + little_endian(width, 4) + little_endian(height, 4) +
         little_endian(1, 2) + little_endian(24, 2) + little_endian(0, 24) + pixels;
}

/// Words of a format in any order.
template <class Words>
std::string words(Choices& choices, const Words& from, size_t most) {
  std::string text;
  for (size_t left = choices.below(most); left > 0; --left) text += choices.one_of(from);
  return text;
}

std::string texts(Choices& choices) {
  constexpr std::array kWords = {"{\"text\": \"a cat\", \"label\": 1}\n",
                                 "{\"sentence1\": \"a\", \"sentence2\": \"b\", ",
                                 "\"score\": 0.5}\n",
                                 "\"score\": \"x\"}\n",
                                 "\"label\": 1.5}\n",
                                 "\"label\": null}\n",
                                 "\"label\": 18446744073709551615}\n",
                                 "{",
                                 "}",
                                 "\n",
                                 "\t",
                                 "a cat",
                                 "sentence1\tsentence2\t",
                                 "score\n",
                                 "label\n",
                                 "a\tb\t0.5\n",
                                 "x\tx\tx\tx\t1\ta\tb\n",
                                 "1e999",
                                 "\"\\ud800\"",
                                 "\xFF\xFE",
                                 "\r\n",
                                 "[[[[",
                                 "\xF0\x9F\x98\x80",
                                 "unknownword",
                                 " ",
                                 "text"};
  return words(choices, kWords, 24);
}

std::string manifest(Choices& choices) {
  constexpr std::array kLines = {
      "inputs:\n",
      "  image:\n",
      "  size: {value: ones}\n",
      "  size: {value: 7.5}\n",
      "  size: {value: size.npy}\n",
      "    data: images\n",
      "    data: x.npy\n",
      "    data: x.npz\n",
      "    data: list.txt\n",
      "    data: ..\n",
      "    data: \"\"\n",
      "    preprocess: imagenet\n",
      "    preprocess: none\n",
      "    preprocess: nothing\n",
      "    preprocess: {resize_short: 8, crop: [4, 4], mean: [0.5], std: [0.5]}\n",
      "    preprocess: {pad_multiple: 99999999999}\n",
      "    preprocess: {letterbox: [8, 9]}\n",
      "    preprocess: {resize: [0, 3]}\n",
      "    value: zeros\n",
      "  input_ids: {data: x.npy}\n",
      "  attention_mask: {value: 1}\n",
      "text: texts.txt\n",
      "text: texts.jsonl\n",
      "text: texts.tsv\n",
      "tokenizer: vocab.txt\n",
      "tokenizer: images\n",
      "labels: labels.tsv\n",
      "labels: images\n",
      "  x: &a {data: x.npy}\n",
      "  size: *a\n",
      "inputs: [image]\n",
      "inputs: image\n",
      "  [image]: 1\n",
      "unknown: 1\n",
      "---\n",
      "  image: {data: images}\n"};
  return words(choices, kLines, 10);
}

std::string labels(Choices& choices) {
  constexpr std::array kWords = {"0.bmp\t1\n", "1.bmp\t0\n", "2.bmp\t-1\n", "3\t0.bmp\n",
                                 "\n",         "\t",         "0.bmp",       "99999999999999999999",
                                 "#",          "\r\n",       "1.bmp\tx\n"};
  return words(choices, kWords, 8);
}

std::string image_list(Choices& choices) {
  constexpr std::array kWords = {"images/0.bmp", "images/1.bmp\n", " 1\n",
                                 ",0\n",         "\t-3\n",         "#\n",
                                 "\n",           "none.png\n",     "images.png/../images/0.bmp\n"};
  return words(choices, kWords, 8);
}

// --- what a run has ------------------------------------------------------------------------------

/// One folder for all runs; most files of a run are written only when it comes to them.
const fs::path& folder() {
  static const fs::path made = [] {
    std::string name = (fs::temp_directory_path() / "model_data_fuzz_XXXXXX").string();
    if (!::mkdtemp(name.data())) std::abort();
    return fs::path(name);
  }();
  return made;
}

/// Changes a byte or two now and then, or cuts the end off.
void write(const char* name, std::string bytes, Choices& choices) {
  for (size_t edits = choices.below(8) == 7 ? choices.below(4) : 0; edits > 0; --edits) {
    if (bytes.empty()) break;
    const size_t at = choices.below(bytes.size());
    choices.below(8) == 7 ? bytes.resize(at) : void(bytes[at] = static_cast<char>(choices.byte()));
  }
  const fs::path file = folder() / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

std::string write_source(Choices& choices) {
  constexpr std::array kKinds = {"x.npz",         "parts",  "texts.txt", "texts.jsonl", "texts.tsv",
                                 "manifest.yaml", "images", "x.npy",     "list.txt"};
  const std::string kind = choices.one_of(kKinds);
  const auto write_images = [&] {
    for (const char* name : {"images/0.bmp", "images/1.bmp"}) write(name, bitmap(choices), choices);
  };
  if (kind == "x.npz") write("x.npz", archive(choices), choices);
  if (kind == "x.npy") write("x.npy", array(choices), choices);
  if (kind == "images" || kind == "list.txt") write_images();
  if (kind == "list.txt") write("list.txt", image_list(choices), choices);
  if (kind.starts_with("texts")) write(kind.c_str(), texts(choices), choices);
  if (kind == "parts") {
    write("parts/image.npy", array(choices), choices);
    write("parts/size.npy", array(choices), choices);
    if (choices.below(2)) write("parts/x/0.bmp", bitmap(choices), choices);
  }
  if (kind == "manifest.yaml") {
    write("manifest.yaml", manifest(choices), choices);
    write("x.npy", array(choices), choices);
    write("size.npy", array(choices), choices);
    write("x.npz", archive(choices), choices);
    write("texts.txt", texts(choices), choices);
    write("texts.jsonl", texts(choices), choices);
    write("texts.tsv", texts(choices), choices);
    write("list.txt", image_list(choices), choices);
    write_images();
  }
  return kind;
}

std::vector<InputSpec> inputs(Choices& choices) {
  constexpr std::array kTypes = {at::kFloat, at::kLong, at::kByte, at::kHalf, at::kBool};
  constexpr std::array kSizes = {int64_t{-1}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{8}};
  std::vector<InputSpec> specs;
  const size_t count = 1 + choices.below(4), first = choices.below(kInputs.size());
  for (size_t i = 0; i < count; ++i) {
    const bool is_next = choices.below(8) != 7;  // else one that may be there already
    InputSpec spec{
        .name = is_next ? kInputs[(first + i) % kInputs.size()] : choices.one_of(kInputs),
        .has_default = choices.below(8) == 7};
    if (choices.below(8) != 7) {
      spec.info.emplace();
      spec.info->dtype = choices.one_of(kTypes);
      for (size_t axes = choices.below(5); axes > 0; --axes)
        spec.info->shape.push_back(choices.one_of(kSizes));
      if (choices.below(2)) spec.info->symbols.assign(spec.info->shape.size(), "n");
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

DataRequest request(Choices& choices, const std::vector<InputSpec>& specs) {
  constexpr std::array kValues = {"ones", "zeros", "3.5", "nan", "x.npy", "1e300", ""};
  constexpr std::array kPresets = {"none", "imagenet", "cifar10", "mnist", "yolo"};
  constexpr std::array kParts = {TextPart::Both, TextPart::First, TextPart::Second};
  DataRequest asked{.path = folder() / write_source(choices)};
  asked.tokenizer = folder() / "vocab.txt";
  asked.max_length = static_cast<int64_t>(choices.below(20));
  asked.text_part = choices.one_of(kParts);
  if (choices.below(4) == 3) {
    write("labels.tsv", labels(choices), choices);
    asked.labels = folder() / "labels.tsv";
  }
  if (choices.below(2)) asked.facts = [specs] { return ModelFacts{.inputs = specs}; };
  if (choices.below(3) == 2) asked.preprocess = PreprocessChoice{choices.one_of(kPresets)};
  if (choices.below(3) == 2)
    asked.fixed.emplace_back(choices.one_of(kInputs), choices.one_of(kValues));
  return asked;
}

void read(const DataRequest& asked, const std::vector<InputSpec>& specs) {
  const ModelData data = open_data(asked, specs);
  InputCheck check(data);
  check.add(data.batch({0}));
  data.is_ragged();
  if (data.size() > 1) check.add(data.batch({data.size() - 1, 0}));
  check.warnings();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const bool ready = [] {
    at::set_num_threads(1);
    std::ofstream(folder() / "vocab.txt") << "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\ncat\n##t\n";
    return true;
  }();
  Choices choices(bytes, ready ? size : 0);
  const std::vector<InputSpec> specs = inputs(choices);
  const DataRequest asked = request(choices, specs);
  try {
    read(asked, specs);
  } catch (const sparsebit::Error&) {  // what bad samples should end in; all else is a finding
  }
  for (const char* name : {"x.npy", "size.npy", "x.npz", "images", "parts"})
    fs::remove_all(folder() / name);
  return 0;
}
