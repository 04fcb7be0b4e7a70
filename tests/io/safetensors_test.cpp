#include "sparsebit/io/safetensors.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <ostream>

namespace sparsebit::io::safetensors_test {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

// A file with this header text and data.
std::string file_bytes(const std::string& header, const std::string& data = "") {
  const auto length = std::bit_cast<std::array<char, 8>>(uint64_t{header.size()});
  return std::string(length.begin(), length.end()) + header + data;
}

class Safetensors : public testing::Test {
 protected:
  NamedTensors round_trip(const NamedTensors& tensors) const {
    save_safetensors(path_, tensors);
    return load_safetensors(path_).tensors;
  }

  test::TempDir dir_;
  std::filesystem::path path_ = dir_ / "w.safetensors";
};

// Same type, shape and bits. Bits, because a NaN is not equal to itself.
void expect_same(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.scalar_type(), expected.scalar_type());
  ASSERT_EQ(actual.sizes(), expected.sizes());
  if (expected.numel() == 0) return;  // no memory to compare
  const at::Tensor dense = expected.contiguous();
  EXPECT_EQ(std::memcmp(actual.data_ptr(), dense.data_ptr(), dense.nbytes()), 0);
}

TEST_F(Safetensors, RoundTripOfAllTypes) {
  const at::Tensor values = at::tensor({-2.5, 0.0, 1.0, 100.25, 3.0, 0.5}).reshape({2, 3});
  NamedTensors tensors;
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong,
                                    at::kInt, at::kShort, at::kChar, at::kBool}) {
    tensors.insert(at::toString(type), values.to(type));
  }
  tensors.insert("Byte", values.abs().to(at::kByte));

  const NamedTensors loaded = round_trip(tensors);

  EXPECT_EQ(loaded.keys(), tensors.keys());
  for (const auto& item : tensors) expect_same(loaded[item.key()], item.value());
}

TEST_F(Safetensors, RoundTripOfUnusualShapesAndValues) {
  const at::Tensor grid = at::arange(24, at::kFloat).reshape({2, 3, 4});
  NamedTensors tensors;
  tensors.insert("scalar", at::scalar_tensor(3.5));
  tensors.insert("empty", at::empty({0}));
  tensors.insert("empty matrix", at::empty({3, 0, 2}, at::kLong));
  tensors.insert("nan and infinities", at::tensor({NAN, INFINITY, -INFINITY, -0.f}));
  tensors.insert("transposed", grid.transpose(0, 2));
  tensors.insert("every second", grid.slice(2, 1, 4, 2));
  tensors.insert("expanded", at::tensor({1.f, 2.f}).expand({3, 2}));
  tensors.insert("grid", grid);
  tensors.insert("grid again", grid);
  tensors.insert("last empty", at::empty({0}));

  const NamedTensors loaded = round_trip(tensors);

  EXPECT_EQ(loaded.keys(), tensors.keys());
  for (const auto& item : tensors) expect_same(loaded[item.key()], item.value());
  EXPECT_EQ(loaded["scalar"].dim(), 0);
}

TEST_F(Safetensors, LazyNegationIsResolved) {
  const at::Tensor z = at::complex(at::tensor({1.f}), at::tensor({2.f}));
  const at::Tensor negated = at::imag(z.conj());
  ASSERT_TRUE(negated.is_neg());
  EXPECT_EQ(round_trip({{"x", negated}})["x"].item<float>(), -2);
}

TEST_F(Safetensors, TensorsThatRequireGradLoadAsPlainOnes) {
  const at::Tensor weight = at::ones({2}).requires_grad_();
  EXPECT_FALSE(round_trip({{"w", weight}})["w"].requires_grad());
}

TEST_F(Safetensors, LoadedTensorsOwnTheirMemory) {
  save_safetensors(path_, {{"a", at::ones({2})}, {"b", at::ones({2})}});
  const SafetensorsFile file = load_safetensors(path_);
  file.tensors["a"].zero_();
  EXPECT_EQ(file.tensors["b"].sum().item<float>(), 2);
}

TEST_F(Safetensors, MetadataAndNamesKeepTheirText) {
  const std::map<std::string, std::string> metadata = {
      {"format", "pt"}, {"quote", "\"\\\n{}"}, {"", "é中"}};
  save_safetensors(path_, {{"a \"b\"/é", at::ones({1})}}, metadata);
  const SafetensorsFile file = load_safetensors(path_);
  EXPECT_EQ(file.metadata, metadata);
  EXPECT_THAT(file.tensors.keys(), ElementsAre("a \"b\"/é"));
}

TEST_F(Safetensors, NothingAtAll) {
  save_safetensors(path_, NamedTensors());
  EXPECT_EQ(read_file(path_), file_bytes("{}      "));
  EXPECT_TRUE(load_safetensors(path_).tensors.is_empty());
}

TEST_F(Safetensors, BytesAreThoseOfTheFormat) {
  NamedTensors tensors;
  tensors.insert("b", at::tensor({1, 2, 3}, at::kByte));
  tensors.insert("a", at::tensor({1.f}).reshape({1, 1}));
  save_safetensors(path_, tensors, {{"k", "v"}});

  const std::string header =
      R"({"__metadata__":{"k":"v"},"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
      R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[3,7]}})";
  const std::string padding(8 - header.size() % 8, ' ');
  EXPECT_EQ(read_file(path_), file_bytes(header + padding, std::string("\1\2\3\0\0\x80\x3f", 7)));
}

TEST_F(Safetensors, SameTensorsGiveTheSameBytes) {
  const at::Tensor grid = at::arange(6, at::kFloat).reshape({2, 3});
  save_safetensors(path_, {{"x", grid}, {"y", grid.t()}}, {{"a", "1"}, {"b", "2"}});
  const std::string first = read_file(path_);
  const at::Tensor strided = at::arange(6, at::kFloat).reshape({2, 3}).t().contiguous();
  save_safetensors(path_, {{"x", strided.t()}, {"y", strided}}, {{"b", "2"}, {"a", "1"}});
  EXPECT_EQ(read_file(path_), first);
}

TEST_F(Safetensors, HeaderOrderMayDifferFromDataOrder) {
  write_file_atomically(path_, file_bytes(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                                          R"("y":{"data_offsets":[0,2],"shape":[2],"dtype":"U8"}})",
                                          "abc"));
  const NamedTensors tensors = load_safetensors(path_).tensors;
  EXPECT_THAT(tensors.keys(), ElementsAre("x", "y"));
  EXPECT_EQ(tensors["x"].item<int>(), 'c');
  EXPECT_EQ(tensors["y"][1].item<int>(), 'b');
}

struct SaveErrorCase {
  const char* name;
  std::function<NamedTensors()> tensors;
  std::map<std::string, std::string> metadata;
  ErrorKind kind;
  const char* message;
};

void PrintTo(const SaveErrorCase& c, std::ostream* out) { *out << c.name; }

class SaveError : public testing::TestWithParam<SaveErrorCase> {};

TEST_P(SaveError, SaysWhyAndWritesNothing) {
  const SaveErrorCase& c = GetParam();
  const test::TempDir dir;
  try {
    save_safetensors(dir / "w.safetensors", c.tensors(), c.metadata);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), c.message);
    EXPECT_EQ(e.kind(), c.kind);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

const SaveErrorCase kSaveErrors[] = {
    {"Undefined",
     [] {
       return NamedTensors{{"w", at::Tensor()}};
     },
     {},
     ErrorKind::InvalidArgument,
     "safetensors: tensor 'w' is undefined"},
    {"Complex",
     [] {
       return NamedTensors{{"w", at::ones({1}, at::kComplexFloat)}};
     },
     {},
     ErrorKind::Unsupported,
     "safetensors: tensor 'w' has type ComplexFloat, which the format does not have"},
    {"Sparse",
     [] {
       return NamedTensors{{"w", at::ones({2}).to_sparse()}};
     },
     {},
     ErrorKind::Unsupported,
     "safetensors: tensor 'w' is not dense (layout Sparse)"},
    {"ReservedName",
     [] {
       return NamedTensors{{"__metadata__", at::ones({1})}};
     },
     {},
     ErrorKind::InvalidArgument,
     "safetensors: a tensor cannot be called '__metadata__'"},
    {"NameNotUtf8",
     [] {
       return NamedTensors{{"w\xff", at::ones({1})}};
     },
     {},
     ErrorKind::InvalidArgument,
     "safetensors: tensor name \"w\\ufffd\" is not valid UTF-8"},
    {"MetadataNotUtf8",
     [] { return NamedTensors(); },
     {{"k", "v\xff"}},
     ErrorKind::InvalidArgument,
     "safetensors: metadata value \"v\\ufffd\" is not valid UTF-8"},
};
INSTANTIATE_TEST_SUITE_P(Cases, SaveError, testing::ValuesIn(kSaveErrors),
                         [](const auto& info) { return std::string(info.param.name); });

struct MalformedCase {
  const char* name;
  std::string bytes;
  std::string message;  // after the path
};

void PrintTo(const MalformedCase& c, std::ostream* out) { *out << c.name; }

class Malformed : public testing::TestWithParam<MalformedCase> {};

TEST_P(Malformed, IsRefusedWithAReason) {
  const test::TempDir dir;
  const std::filesystem::path path = dir / "w.safetensors";
  write_file_atomically(path, GetParam().bytes);
  try {
    load_safetensors(path);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), path.string() + ": " + GetParam().message);
    EXPECT_EQ(e.kind(), ErrorKind::InvalidModel);
  }
}

// A file with one tensor 'w' of these JSON values and four bytes of data.
std::string one_tensor(const std::string& dtype, const std::string& shape,
                       const std::string& offsets) {
  return file_bytes(
      R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
      "\1\2\3\4");
}

// A file with two U8 tensors, 'v' and 'w', of three bytes each.
std::string two_tensors(const std::string& v_offsets, const std::string& w_offsets,
                        const std::string& data) {
  return file_bytes(R"({"v":{"dtype":"U8","shape":[3],"data_offsets":)" + v_offsets +
                        R"(},"w":{"dtype":"U8","shape":[3],"data_offsets":)" + w_offsets + "}}",
                    data);
}

const std::string kKnown = "F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL";
const std::string kNoOffsets =
    "tensor 'w': data_offsets is not a list of two integers, zero or more";
const std::string kBadSize =
    "tensor 'w': a size in its shape is not valid; expected an integer from 0 to 2^63 - 1, found ";

const MalformedCase kMalformed[] = {
    // The header as a whole.
    {"Empty", "", "not a safetensors file: 0 bytes, shorter than a header"},
    {"SevenBytes", std::string(7, '\0'), "not a safetensors file: 7 bytes, shorter than a header"},
    {"LengthBeyondTheEnd", file_bytes("{}").replace(0, 1, "\3"),
     "the header has 3 bytes, but only 2 follow; is the file complete?"},
    {"LengthBeyondTheCap", file_bytes("{}").replace(4, 1, "\1"),
     "not a safetensors file: a header of 4294967298 bytes; at most 100000000 are allowed"},
    {"HugeLength", std::string(16, '\xff'),
     "not a safetensors file: a header of 18446744073709551615 bytes; at most 100000000 are "
     "allowed"},
    {"EmptyHeader", file_bytes(""), "the header is not valid JSON (at byte 1 of it)"},
    {"NotJson", file_bytes("{\"w\": nope}"), "the header is not valid JSON (at byte 8 of it)"},
    {"TextAfterJson", file_bytes("{} x"), "the header is not valid JSON (at byte 4 of it)"},
    {"NotUtf8", file_bytes("{\"\xff\":1}"), "the header is not valid JSON (at byte 3 of it)"},
    {"NotAnObject", file_bytes("[1]"), "the header is not a JSON object"},
    {"Nested", file_bytes("{\"w\":" + std::string(100000, '[')), "the header is nested too deeply"},
    {"TrailingData", file_bytes("{}", "x"),
     "the data does not end with the last tensor; expected 0 bytes of data, found 1"},
    // Keys.
    {"TensorTwice", file_bytes(R"({"w":1,"w":1})"), "duplicate key 'w' in the header"},
    {"KeyTwice", file_bytes(R"({"w":{"dtype":"U8","dtype":"I8"}})"),
     "duplicate key 'dtype' in the header"},
    {"MetadataNotAnObject", file_bytes(R"({"__metadata__":[]})"),
     "__metadata__ is not a JSON object"},
    {"MetadataNotText", file_bytes(R"({"__metadata__":{"k":1}})"),
     "__metadata__ entry 'k' is not a string"},
    {"TensorNotAnObject", file_bytes(R"({"w":[1]})"), "tensor 'w': its entry is not a JSON object"},
    {"NoDtype", file_bytes(R"({"w":{}})"), "tensor 'w': 'dtype' is missing"},
    {"NoShape", file_bytes(R"({"w":{"dtype":"U8"}})"), "tensor 'w': 'shape' is missing"},
    {"NoDataOffsets", file_bytes(R"({"w":{"dtype":"U8","shape":[]}})"),
     "tensor 'w': 'data_offsets' is missing"},
    {"UnknownKey", one_tensor(R"("U8","extra":1)", "[4]", "[0,4]"),
     "tensor 'w': unknown key 'extra'"},
    // Types and shapes.
    {"UnknownDtype", one_tensor(R"("F8")", "[4]", "[0,4]"),
     "tensor 'w': unknown dtype 'F8'; known: " + kKnown},
    {"DtypeNotText", one_tensor("32", "[4]", "[0,4]"), "tensor 'w': dtype is not a string"},
    {"ShapeNotAList", one_tensor(R"("U8")", "4", "[0,4]"), "tensor 'w': shape is not a list"},
    {"NegativeSize", one_tensor(R"("U8")", "[-4]", "[0,4]"), kBadSize + "-4"},
    {"TwoNegativeSizes", one_tensor(R"("U8")", "[-2,-2]", "[0,4]"), kBadSize + "-2"},
    {"FractionalSize", one_tensor(R"("U8")", "[4.5]", "[0,4]"), kBadSize + "4.5"},
    {"TextSize", one_tensor(R"("U8")", R"(["4"])", "[0,4]"), kBadSize + "\"4\""},
    {"SizeBeyondSigned", one_tensor(R"("U8")", "[9223372036854775808]", "[0,4]"),
     kBadSize + "9223372036854775808"},
    {"SizeBeyond64Bits", one_tensor(R"("U8")", "[18446744073709551620]", "[0,4]"),
     kBadSize + "1.8446744073709552e+19"},
    {"ShapeOverflows", one_tensor(R"("U8")", "[4294967296,4294967297]", "[0,4]"),
     "tensor 'w': its shape overflows"},
    {"BytesOverflow", one_tensor(R"("F32")", "[4611686018427387905]", "[0,4]"),
     "tensor 'w': its shape overflows"},
    {"EmptyShapeOverflows", one_tensor(R"("U8")", "[0,4294967296,4294967296]", "[0,0]"),
     "tensor 'w': its shape overflows"},
    // Offsets.
    {"OffsetsNotAList", one_tensor(R"("U8")", "[4]", "4"), kNoOffsets},
    {"OneOffset", one_tensor(R"("U8")", "[4]", "[4]"), kNoOffsets},
    {"ThreeOffsets", one_tensor(R"("U8")", "[4]", "[0,4,4]"), kNoOffsets},
    {"NegativeOffset", one_tensor(R"("U8")", "[4]", "[-4,0]"), kNoOffsets},
    {"FractionalOffset", one_tensor(R"("U8")", "[4]", "[0,4.0]"), kNoOffsets},
    {"BackwardOffsets", one_tensor(R"("U8")", "[4]", "[4,0]"),
     "tensor 'w': data_offsets are out of range; expected 0 <= begin <= end <= 4, found [4, 0]"},
    {"OffsetBeyondTheEnd", one_tensor(R"("U8")", "[5]", "[0,5]"),
     "tensor 'w': data_offsets are out of range; expected 0 <= begin <= end <= 4, found [0, 5]"},
    {"LessThanTheShape", one_tensor(R"("U8")", "[4]", "[0,3]"),
     "tensor 'w': data_offsets do not fit the shape; expected 4 bytes, found 3"},
    {"NotTimesTheType", one_tensor(R"("F32")", "[4]", "[0,4]"),
     "tensor 'w': data_offsets do not fit the shape; expected 16 bytes, found 4"},
    {"EmptyWithData", one_tensor(R"("U8")", "[0]", "[0,4]"),
     "tensor 'w': data_offsets do not fit the shape; expected 0 bytes, found 4"},
    {"ScalarWithoutData", one_tensor(R"("U8")", "[]", "[0,0]"),
     "tensor 'w': data_offsets do not fit the shape; expected 1 bytes, found 0"},
    {"Overlap", two_tensors("[0,3]", "[2,5]", "12345"),
     "tensor 'w': its data overlaps that of another tensor; expected begin at 3, found 2"},
    {"SameData", two_tensors("[0,3]", "[0,3]", "123"),
     "tensor 'w': its data overlaps that of another tensor; expected begin at 3, found 0"},
    {"Gap", two_tensors("[0,3]", "[4,7]", "1234567"),
     "tensor 'w': there is a gap before its data; expected begin at 3, found 4"},
    {"GapAtTheStart", two_tensors("[1,4]", "[4,7]", "1234567"),
     "tensor 'v': there is a gap before its data; expected begin at 0, found 1"},
    {"DataAfterTheLast", two_tensors("[0,3]", "[3,6]", "1234567"),
     "the data does not end with the last tensor; expected 6 bytes of data, found 7"},
    {"TruncatedData", two_tensors("[0,3]", "[3,6]", "12345"),
     "tensor 'w': data_offsets are out of range; expected 0 <= begin <= end <= 5, found [3, 6]"},
    // Values.
    {"BoolNeitherZeroNorOne", one_tensor(R"("BOOL")", "[4]", "[0,4]"),
     "tensor 'w': BOOL data other than 0 and 1"},
};
INSTANTIATE_TEST_SUITE_P(Cases, Malformed, testing::ValuesIn(kMalformed),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(Safetensors, EveryTruncationOfAValidFileIsRefused) {
  save_safetensors(path_, {{"x", at::ones({3})}, {"y", at::ones({2}, at::kLong)}}, {{"k", "v"}});
  const std::string whole = read_file(path_);
  for (size_t size = 0; size < whole.size(); ++size) {
    write_file_atomically(path_, whole.substr(0, size));
    EXPECT_THROW(load_safetensors(path_), Error) << "first " << size << " bytes";
  }
}

TEST_F(Safetensors, FilesThatCannotBeRead) {
  EXPECT_THAT([&] { load_safetensors(path_); },
              ThrowsMessage<Error>(path_.string() + ": cannot read: No such file or directory"));
  EXPECT_THAT([&] { load_safetensors(dir_.path()); },
              ThrowsMessage<Error>(dir_.path().string() + ": cannot read: Is a directory"));
  EXPECT_THAT([] { load_safetensors("/dev/zero"); },
              ThrowsMessage<Error>("/dev/zero: cannot read: not a regular file"));
}

}  // namespace
}  // namespace sparsebit::io::safetensors_test
