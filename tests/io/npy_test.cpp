#include "sparsebit/io/npy.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

namespace sparsebit::io::npy_test {
namespace {

using namespace std::string_literals;
using testing::ThrowsMessage;

void expect_same(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.scalar_type(), expected.scalar_type());
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_TRUE(actual.is_contiguous());
  EXPECT_TRUE(at::equal(actual, expected)) << actual;
}

/// A file of version 1 with this header text, padded and ended as NumPy does.
std::string version_1(std::string text, const std::string& data = "") {
  text.resize(117, ' ');
  return "\x93NUMPY\x01\x00v\x00"s + text + "\n" + data;
}

/// A file of version 2 or 3, whose header length has four bytes.
std::string version_n(char major, std::string text, const std::string& data) {
  text.resize(115, ' ');
  return "\x93NUMPY"s + major + "\x00t\x00\x00\x00"s + text + "\n" + data;
}

struct NumpyFile {
  const char* name;
  std::string bytes;  // written by NumPy 1.24
  at::Tensor tensor;
  bool is_how_we_write;
};

void PrintTo(const NumpyFile& c, std::ostream* out) { *out << c.name; }

std::vector<NumpyFile> numpy_files() {
  return {
      {"Float",
       version_1("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                 "\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@"s),
       at::arange(6, at::kFloat).reshape({2, 3}), true},
      {"BigEndianFortranVersion2",
       version_n(2, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }",
                 "\x00\x00\x00\x03\x00\x01\x00\x04\x00\x02\x00\x05"s),
       at::arange(6, at::kShort).reshape({2, 3}), false},
      {"Scalar",
       version_1("{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
                 "\x00\x00\x00\x00\x00\x00\x04@"s),
       at::scalar_tensor(2.5, at::kDouble), true},
      {"BigEndianComplexVersion3",
       version_n(3, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }",
                 "?\x80\x00\x00@\x00\x00\x00"s),
       at::complex(at::tensor({1.f}), at::tensor({2.f})), false},
      {"Bool", version_1("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "\x01\x00"s),
       at::tensor({1, 0}).to(at::kBool), true},
      {"Empty", version_1("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 3), }"),
       at::empty({0, 3}, at::kLong), true},
  };
}

class NpyNumpy : public testing::TestWithParam<NumpyFile> {};

TEST_P(NpyNumpy, ReadsWhatNumpyWrote) {
  expect_same(parse_npy(GetParam().bytes, "x.npy"), GetParam().tensor);
}

TEST_P(NpyNumpy, WritesTheSameBytes) {
  if (!GetParam().is_how_we_write) return;
  const test::TempDir dir;
  save_npy(dir / "x.npy", GetParam().tensor);
  EXPECT_EQ(read_file(dir / "x.npy"), GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(Files, NpyNumpy, testing::ValuesIn(numpy_files()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Npy, RoundTripOfAllTypesAndLayouts) {
  const test::TempDir dir;
  const auto check = [&dir](const at::Tensor& tensor) {
    save_npy(dir / "x.npy", tensor);
    expect_same(load_npy(dir / "x.npy"), tensor);
  };
  const at::Tensor values = at::tensor({-2.5, 0.0, 1.0, 100.25, 3.0, 0.5}).reshape({2, 3});
  for (const at::ScalarType type :
       {at::kDouble, at::kFloat, at::kHalf, at::kLong, at::kInt, at::kShort, at::kChar, at::kBool,
        at::kComplexFloat, at::kComplexDouble}) {
    check(values.to(type));
  }
  check(values.abs().to(at::kByte));
  check(values.t());
  check(values.slice(1, 0, 3, 2));
  check(at::tensor({1.f, 2.f}).expand({3, 2}));
  check(at::tensor({INFINITY, -INFINITY, -0.f}));
  check(at::empty({3, 0, 2}, at::kHalf));
  check(at::ones(std::vector<int64_t>(64, 1)));
  check(at::complex(at::tensor({1.f}), at::tensor({2.f})).conj());
}

TEST(Npy, KeysMayComeInAnyOrderAndQuoting) {
  const std::string text = "{\"shape\":(2L, ),\n'descr' : '=i1','fortran_order': True}";
  expect_same(parse_npy(version_1(text, "\x01\xff"), "x.npy"), at::tensor({1, -1}).to(at::kChar));
}

TEST(Npy, WhatNumpyCannotHoldIsRefused) {
  const test::TempDir dir;
  const std::string path = dir / "x.npy";
  EXPECT_THAT(
      [&] { save_npy(path, at::ones({2}, at::kBFloat16)); },
      ThrowsMessage<Error>(path + ": the .npy format cannot hold a tensor of type BFloat16"));
  EXPECT_THAT(
      [&] { save_npy(path, at::ones({2}).to_sparse()); },
      ThrowsMessage<Error>(path + ": the .npy format cannot hold a sparse tensor of type Float"));
  EXPECT_THAT([&] { save_npy(path, at::Tensor()); },
              ThrowsMessage<Error>(path + ": cannot save an undefined tensor"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Npy, MissingFilesAreNamed) {
  EXPECT_THAT([] { load_npy("/nowhere/x.npy"); },
              ThrowsMessage<Error>("/nowhere/x.npy: cannot read: No such file or directory"));
  EXPECT_THAT([] { load_npy("/tmp"); }, ThrowsMessage<Error>("/tmp: cannot read: Is a directory"));
}

struct BadFile {
  const char* name;
  std::string bytes;
  std::string message;  // after "x.npy: "
};

void PrintTo(const BadFile& c, std::ostream* out) { *out << c.name; }

class NpyBad : public testing::TestWithParam<BadFile> {};

TEST_P(NpyBad, IsAOneLineError) {
  EXPECT_THAT([] { parse_npy(GetParam().bytes, "x.npy"); },
              ThrowsMessage<Error>("x.npy: " + GetParam().message));
}

std::string of_type(const std::string& descr) {
  return version_1("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,), }");
}

std::string of_shape(const std::string& shape) {
  return version_1("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }");
}

std::string malformed(const std::string& found) {
  return "the .npy header is not well formed: " + found;
}

const BadFile kBadFiles[] = {
    {"Nothing", "", "not a .npy file: it is empty"},
    {"OtherMagic", "PK\x03\x04", "not a .npy file: it does not start with \\x93NUMPY"},
    {"OnlyMagic", "\x93NUMPY", "the .npy header is cut off"},
    {"CutInLength", "\x93NUMPY\x02\x00t\x00\x00"s, "the .npy header is cut off"},
    {"Version9", "\x93NUMPY\x09\x00v\x00"s,
     ".npy format version 9 is not supported; expected 1 to 3"},
    {"LongHeader", "\x93NUMPY\x02\x00\xff\xff\xff\xff{}"s,
     "the .npy header has 4294967295 bytes, but only 2 follow; is the file complete?"},
    {"NoDict", version_1("descr"), malformed("no '{' at character 0")},
    {"NoKeys", version_1("{}"),
     malformed("one of 'descr', 'fortran_order' and 'shape' missing at character 118")},
    {"UnknownKey", version_1("{'color': 1}"), malformed("an unexpected key at character 9")},
    {"KeyTwice", version_1("{'shape': (), 'shape': ()}"),
     malformed("an unexpected key at character 22")},
    {"NoComma", version_1("{'shape': () 'descr': '<f4'}"),
     malformed("no ',' or '}' at character 13")},
    {"TrailingText", version_1("{'descr': '<f4', 'fortran_order': False, 'shape': ()} + {}"),
     malformed("data after the closing '}' at character 54")},
    {"TextWithoutEnd", version_1("{'shape"), malformed("an unterminated string at character 2")},
    {"OrderIsNoBool", version_1("{'fortran_order': 0}"),
     malformed("neither True nor False at character 18")},
    {"NegativeDim", of_shape("(-1,)"), malformed("an invalid dimension at character 51")},
    {"HugeDim", of_shape("(99999999999999999999,)"),
     malformed("an invalid dimension at character 51")},
    {"NotATuple", of_shape("(3)"), malformed("no ',' at character 52")},
    {"ShapeIsAList", of_shape("[3]"), malformed("no '(' at character 50")},
    {"Records", of_type("[('a', '<f4')]"), "structured arrays are not supported"},
    {"Objects", of_type("'|O'"),
     "unsupported array type '|O'; supported are b1, i1 to i8, u1, f2 to f8, c8 and c16"},
    {"WideUnsigned", of_type("'<u2'"),
     "unsupported array type '<u2'; supported are b1, i1 to i8, u1, f2 to f8, c8 and c16"},
    {"StrangeType", of_type("'\n\xff'"),
     "unsupported array type '\?\?'; supported are b1, i1 to i8, u1, f2 to f8, c8 and c16"},
    {"TooShort", of_shape("(3,)") + "1234",
     "shape (3) of Float needs 12 bytes of data, but there are 4"},
    {"TooLong", of_shape("()") + "12345",
     "shape () of Float needs 4 bytes of data, but there are 5"},
    {"OverflowingSize", of_shape("(4294967296, 4294967296)"),
     "the size of shape (4294967296, 4294967296) overflows 64 bits"},
    {"OverflowingStrides", of_shape("(0, 4294967296, 4294967296)"),
     "the size of shape (0, 4294967296, 4294967296) overflows 64 bits"},
    {"NotABool", version_1("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "\x01\x02"),
     "bool data other than 0 and 1"},
};
INSTANTIATE_TEST_SUITE_P(Files, NpyBad, testing::ValuesIn(kBadFiles),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Npy, TooManyDimensionsAreRefused) {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 65; ++i) text += "1,";
  text += "), }";
  const std::string bytes = "\x93NUMPY\x01\x00"s + static_cast<char>(text.size()) + '\0' + text;
  EXPECT_THAT([&] { parse_npy(bytes, "x.npy"); },
              ThrowsMessage<Error>("x.npy: arrays of more than 64 dimensions are not supported"));
}

}  // namespace
}  // namespace sparsebit::io::npy_test
