#include "easy/given_inputs.h"

#include "core/temp_dir.h"
#include "easy/usage_error.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::easy::test::given_inputs_test {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::ThrowsMessage;

TEST(GivenInputs, NameAndFileAreSplitAtTheEqualsSign) {
  EXPECT_THAT(split_name("x=a.npy"), Pair("x", "a.npy"));
  EXPECT_THAT(split_name("a.npy"), Pair("", "a.npy"));
}

TEST(GivenInputs, AFileWithAnEqualsSignInItsNameIsAFile) {
  const sparsebit::test::TempDir dir;
  const std::string file = dir / "a=b.npy";
  io::save_npy(file, at::zeros({2}));
  EXPECT_THAT(split_name(file), Pair("", file));
}

TEST(GivenInputs, NamesOfFilesAndShapes) {
  EXPECT_THAT(named_inputs({.files = {"x=a.npy", "b.npy"}, .shapes = {"y=1x2", "3x4"}}),
              ElementsAre("x", "y"));
}

TEST(GivenInputs, InputsGivenTwiceAreErrors) {
  EXPECT_THAT(
      [] {
        named_inputs({.files = {"x=a.npy", "x=b.npy"}});
      },
      ThrowsMessage<UsageError>("--input x=b.npy: input 'x' is given twice"));
  EXPECT_THAT(
      [] {
        given_shapes({.shapes = {"x=1x2", "x=3"}});
      },
      ThrowsMessage<UsageError>("--shape x=3: the shape of 'x' is given twice"));
  EXPECT_THAT(
      [] {
        given_shapes({.shapes = {"1x2", "3"}});
      },
      ThrowsMessage<UsageError>("--shape 3: the shape of the input is given twice"));
}

TEST(GivenInputs, TypesAndShapesComeFromFilesAndOptions) {
  const sparsebit::test::TempDir dir;
  const std::string file = dir / "ids.npy";
  io::save_npy(file, at::zeros({2, 5}, at::kLong));
  const KnownShapes known =
      known_shapes({.files = {"ids=" + file, "gone=none.npy"}, .shapes = {"x=1x3", "m=4:int64"}});
  ASSERT_EQ(known.size(), 3u);
  EXPECT_THAT(known.at("ids").shape, ElementsAre(2, 5));
  EXPECT_EQ(known.at("ids").dtype, at::kLong);
  EXPECT_THAT(known.at("x").shape, ElementsAre(1, 3));
  EXPECT_EQ(known.at("x").dtype, at::kFloat);
  EXPECT_EQ(known.at("m").dtype, at::kLong);
}

}  // namespace
}  // namespace sparsebit::easy::test::given_inputs_test
