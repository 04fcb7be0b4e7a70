#include "sparsebit/data/input_check.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sparsebit::data::input_check_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kAdvice = ": check the data and its preprocessing";

/// The warnings for samples on the first axis, in batches of two.
std::vector<std::string> warnings_for(const at::Tensor& samples,
                                      const io::Preprocess& preprocess = {}) {
  const std::shared_ptr<const io::Dataset> set = io::dataset_of(samples, {}, "samples");
  std::vector<InputFeed> feeds = {{.input = "x", .samples = set, .preprocess = preprocess}};
  const ModelData data({{"x"}}, std::move(feeds));
  InputCheck check(data);
  for (int64_t i = 0; i < samples.size(0); i += 2) check.add(data.batch({i, i + 1}));
  return check.warnings();
}

at::Tensor noise() { return at::rand({4, 3, 8, 8}, at::detail::createCPUGenerator(1)); }

TEST(InputCheck, WhatLooksRightIsNotMentioned) {
  EXPECT_THAT(warnings_for(noise()), IsEmpty());
  const at::Tensor bytes = (noise() * 255).to(at::kByte);
  for (const char* preset : {"imagenet", "yolox", "caffe", "tf", "clip", "none"})
    EXPECT_THAT(warnings_for(bytes, io::preprocess_preset(preset).for_input(8, 8)), IsEmpty())
        << preset;
}

TEST(InputCheck, ConstantAndSaturatedInputs) {
  EXPECT_THAT(warnings_for(at::zeros({4, 3, 8, 8})),
              ElementsAre(std::string("input 'x' is zero in all samples") + kAdvice));
  EXPECT_THAT(warnings_for(at::full({4, 3, 8, 8}, 0.5)),
              ElementsAre(std::string("input 'x' is 0.5 in all samples") + kAdvice));
  at::Tensor dark = at::zeros({4, 3, 8, 8});
  dark[3][0].fill_(1);  // 64 of 768 values
  EXPECT_THAT(warnings_for(dark), IsEmpty());
  dark[3][0].narrow(0, 0, 6).fill_(0);  // 16 of 768
  EXPECT_THAT(warnings_for(dark),
              ElementsAre(std::string("input 'x' is saturated: 98 % of its values are at the "
                                      "bound 0") +
                          kAdvice));
  at::Tensor broken = noise();
  broken[2][1][1][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(warnings_for(broken),
              ElementsAre(std::string("input 'x' has NaN or infinities") + kAdvice));
}

TEST(InputCheck, UnitsThatDoNotFit) {
  const at::Tensor bytes = (noise() * 255).to(at::kByte);
  const io::Preprocess without_scale = {.mean = {0.5}, .std = {0.25}};  // for pixels of 0 to 1
  EXPECT_THAT(warnings_for(bytes, without_scale),
              ElementsAre(testing::HasSubstr("after mean and std, which normally give about -3 to "
                                             "3; scale, mean and std may be in different units")));
  const io::Preprocess twice = {.scale = 1. / 255, .mean = {127.5}, .std = {127.5}};
  EXPECT_THAT(warnings_for(bytes, twice),
              ElementsAre(testing::HasSubstr("input 'x' ranges from -1 to -0.99")));
}

}  // namespace
}  // namespace sparsebit::data::input_check_test
