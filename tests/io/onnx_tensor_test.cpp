#include "sparsebit/io/onnx_tensor.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace sparsebit::io::onnx_tensor_test {
namespace {

using onnx::TensorProto;
using testing::HasSubstr;
using testing::ThrowsMessage;

TensorProto proto_of(int type, std::initializer_list<int64_t> dims) {
  TensorProto proto;
  proto.set_name("w");
  proto.set_data_type(type);
  for (const int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

at::Tensor take(TensorProto proto) {
  ExternalData none;
  return take_tensor(proto, none);
}

void expect_same(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(at::equal(actual, expected)) << actual << expected;
}

TEST(OnnxTensor, EveryTypeSurvivesTheRoundTrip) {
  const at::Tensor values = at::tensor({0.0, 1.0, 2.5, -3.0, 100.0, 7.0}).reshape({2, 3});
  for (const at::ScalarType type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
        at::kChar, at::kBool, at::kComplexFloat}) {
    const at::Tensor tensor = values.to(type);
    expect_same(take(to_tensor_proto(tensor, "w")), tensor);
  }
  expect_same(take(to_tensor_proto(values.abs().to(at::kByte), "w")), values.abs().to(at::kByte));
  expect_same(take(to_tensor_proto(at::scalar_tensor(3.5), "w")), at::scalar_tensor(3.5));
  expect_same(take(to_tensor_proto(at::empty({0, 4}), "w")), at::empty({0, 4}));
}

TEST(OnnxTensor, StridedTensorsAreWrittenInOrder) {
  const at::Tensor matrix = at::arange(6.0).reshape({2, 3}).t();
  expect_same(take(to_tensor_proto(matrix, "w")), matrix.contiguous());
}

TEST(OnnxTensor, RawBytesAreTakenOverNotCopied) {
  TensorProto proto = to_tensor_proto(at::arange(1000.0), "w");
  const void* const bytes = proto.raw_data().data();
  ExternalData none;
  EXPECT_EQ(take_tensor(proto, none).data_ptr(), bytes);
  EXPECT_TRUE(proto.raw_data().empty());
}

TEST(OnnxTensor, TypedFieldsAreRead) {
  TensorProto floats = proto_of(TensorProto::FLOAT, {2});
  floats.add_float_data(1.5F);
  floats.add_float_data(-2.0F);
  expect_same(take(floats), at::tensor({1.5F, -2.0F}));

  TensorProto bytes = proto_of(TensorProto::INT8, {2});
  bytes.add_int32_data(-128);
  bytes.add_int32_data(127);
  expect_same(take(bytes), at::tensor({-128, 127}).to(at::kChar));

  TensorProto half = proto_of(TensorProto::FLOAT16, {1});
  half.add_int32_data(0x3E00);  // the bits of 1.5
  expect_same(take(half), at::tensor({1.5}).to(at::kHalf));

  TensorProto flags = proto_of(TensorProto::BOOL, {2});
  flags.add_int32_data(0);
  flags.add_int32_data(1);
  expect_same(take(flags), at::tensor({0, 1}).to(at::kBool));

  TensorProto longs = proto_of(TensorProto::INT64, {});
  longs.add_int64_data(7);
  expect_same(take(longs), at::scalar_tensor(7, at::kLong));
}

TEST(OnnxTensor, FourBitIntegersBecomeBytes) {
  TensorProto packed = proto_of(22, {3});           // int4
  packed.set_raw_data(std::string("\x7F\x08", 2));  // low bits -1, high bits 7; then -8
  expect_same(take(packed), at::tensor({-1, 7, -8}).to(at::kChar));
  TensorProto unsigned_values = proto_of(21, {2});
  unsigned_values.set_raw_data("\xF1");
  expect_same(take(unsigned_values), at::tensor({1, 15}).to(at::kByte));
}

TEST(OnnxTensor, ABoolOfTwoIsTrue) {
  TensorProto flags = proto_of(TensorProto::BOOL, {2});
  flags.set_raw_data(std::string("\x02\x00", 2));
  expect_same(take(flags), at::tensor({1, 0}).to(at::kBool));
}

TEST(OnnxTensor, SizesThatDoNotFitAreErrors) {
  TensorProto negative = proto_of(TensorProto::FLOAT, {-1});
  EXPECT_THAT([&] { take(negative); }, ThrowsMessage<Error>("tensor 'w': negative dimension -1"));

  TensorProto huge = proto_of(TensorProto::FLOAT, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_THAT([&] { take(huge); }, ThrowsMessage<Error>("tensor 'w': its size overflows 64 bits"));

  // No elements, but strides that overflow.
  TensorProto hollow = proto_of(TensorProto::FLOAT, {0, int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_THAT([&] { take(hollow); },
              ThrowsMessage<Error>("tensor 'w': its size overflows 64 bits"));

  TensorProto large = proto_of(TensorProto::FLOAT, {int64_t{1} << 40});
  large.set_raw_data("abcd");
  EXPECT_THAT([&] { take(large); },
              ThrowsMessage<Error>("tensor 'w': its shape [1099511627776] needs 4398046511104 "
                                   "bytes, but there are 4"));

  TensorProto few = proto_of(TensorProto::INT64, {2, 2});
  few.add_int64_data(1);
  EXPECT_THAT([&] { take(few); },
              ThrowsMessage<Error>("tensor 'w': its shape [2, 2] needs 4 values, but there are 1"));
}

TEST(OnnxTensor, TypesWithoutTensorAreErrorsThatNameThem) {
  EXPECT_THAT([] { take(proto_of(TensorProto::UINT16, {1})); },
              ThrowsMessage<Error>("tensor 'w': element type uint16 is not supported"));
  EXPECT_THAT([] { take(proto_of(17, {1})); }, ThrowsMessage<Error>(HasSubstr("type float8")));
  EXPECT_THAT([] { take(proto_of(99, {1})); }, ThrowsMessage<Error>(HasSubstr("type number 99")));
}

class OnnxExternalData : public testing::Test {
 protected:
  OnnxExternalData() {
    const at::Tensor values = at::arange(8.0F);
    write_file_atomically(dir_ / "w.bin", {static_cast<const char*>(values.data_ptr()), 32});
  }

  static TensorProto stored(int type, const std::string& location, const std::string& offset,
                            const std::string& length, std::initializer_list<int64_t> dims) {
    TensorProto proto = proto_of(type, dims);
    proto.set_data_location(TensorProto::EXTERNAL);
    const auto set = [&proto](const char* key, const std::string& value) {
      if (value.empty()) return;
      proto.add_external_data()->set_key(key);
      proto.mutable_external_data(proto.external_data_size() - 1)->set_value(value);
    };
    set("location", location);
    set("offset", offset);
    set("length", length);
    return proto;
  }

  at::Tensor read(const std::string& location, const std::string& offset = "",
                  const std::string& length = "", std::initializer_list<int64_t> dims = {4}) {
    TensorProto proto = stored(TensorProto::FLOAT, location, offset, length, dims);
    ExternalData external(dir_.path());
    return take_tensor(proto, external);
  }

  /// A tensor with external data after embed_external_data().
  TensorProto embedded(int type, const std::string& location, const std::string& offset,
                       const std::string& length, std::initializer_list<int64_t> dims) {
    TensorProto proto = stored(type, location, offset, length, dims);
    ExternalData external(dir_.path());
    embed_external_data(proto, external);
    return proto;
  }

  test::TempDir dir_;
};

TEST_F(OnnxExternalData, IsReadAtItsPosition) {
  expect_same(read("w.bin"), at::arange(4.0F));
  expect_same(read("w.bin", "16"), at::arange(4.0F, 8.0F));
  expect_same(read("w.bin", "8", "16"), at::arange(2.0F, 6.0F));
}

TEST_F(OnnxExternalData, AnUnalignedPositionIsCopied) {
  write_file_atomically(dir_ / "odd.bin", std::string("x") + read_file(dir_ / "w.bin"));
  expect_same(read("odd.bin", "1"), at::arange(4.0F));
}

TEST_F(OnnxExternalData, LivesAsLongAsTheTensor) {
  at::Tensor values = read("w.bin");
  std::filesystem::remove(dir_ / "w.bin");
  values.add_(1);  // a private copy of the page, not the file
  expect_same(values, at::arange(1.0F, 5.0F));
}

TEST_F(OnnxExternalData, MustStayInsideTheFolder) {
  const std::string outside = "is not a file in the model's own folder";
  for (const std::string location : {"/etc/passwd", "../w.bin", "a/../../w.bin", ""}) {
    EXPECT_THAT([&] { read(location); }, ThrowsMessage<Error>(HasSubstr(outside))) << location;
  }
  const test::TempDir elsewhere;
  write_file_atomically(elsewhere / "secret", std::string(16, 'x'));
  std::filesystem::create_symlink(elsewhere / "secret", dir_ / "link");
  EXPECT_THAT(
      [&] { read("link"); },
      ThrowsMessage<Error>("external data 'link' is a link that leaves the model's folder"));
}

TEST_F(OnnxExternalData, PositionsOutsideTheFileAreErrors) {
  EXPECT_THAT([&] { read("w.bin", "33"); },
              ThrowsMessage<Error>(
                  "tensor 'w': bytes 33 to 33 + 0 are not in 'w.bin', which has 32 bytes"));
  EXPECT_THAT([&] { read("w.bin", "24", "16"); }, ThrowsMessage<Error>(HasSubstr("are not in")));
  EXPECT_THAT([&] { read("w.bin", "x"); },
              ThrowsMessage<Error>("tensor 'w': invalid offset or length 'x' of external data"));
  EXPECT_THAT([&] { read("w.bin", "0", "", {100}); }, ThrowsMessage<Error>(HasSubstr("needs 400")));
  EXPECT_THAT([&] { read("none.bin"); }, ThrowsMessage<Error>(HasSubstr("cannot read")));
}

TEST_F(OnnxExternalData, IsTakenIntoTensorsThatArePassedOn) {
  const TensorProto halves = embedded(TensorProto::UINT16, "w.bin", "4", "", {2});
  EXPECT_FALSE(halves.has_data_location());
  EXPECT_EQ(halves.external_data_size(), 0);
  EXPECT_EQ(halves.raw_data(), std::string("\0\0\x80\x3F", 4));  // 1.0F
  EXPECT_EQ(embedded(/*float8*/ 17, "w.bin", "4", "4", {4}).raw_data(), halves.raw_data());
  EXPECT_EQ(embedded(/*a newer type*/ 99, "w.bin", "4", "4", {3}).raw_data(), halves.raw_data());
  EXPECT_THAT([&] { embedded(TensorProto::UINT16, "w.bin", "", "5", {2}); },
              ThrowsMessage<Error>("tensor 'w': its shape [2] needs 4 bytes, but there are 5"));
  EXPECT_THAT(
      [&] { embedded(TensorProto::UINT16, "../w.bin", "", "", {2}); },
      ThrowsMessage<Error>("external data '../w.bin' is not a file in the model's own folder"));
}

}  // namespace
}  // namespace sparsebit::io::onnx_tensor_test
