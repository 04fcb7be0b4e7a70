#include "sparsebit/nn/layers.h"

#include "sparsebit/nn/containers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::nn::layers_test {
namespace {

ModulePtr small_model() {
  return std::make_shared<Sequential>(std::vector<ModulePtr>{
      Conv2d(3, 4, 3), BatchNorm2d(4), MultiheadAttention(4, 2), Linear(4, 2, {{"bias", false}})});
}

TEST(Layers, ResetIsReproducibleAndIndependentOfOrder) {
  const ModulePtr a = small_model(), b = small_model();
  reset_parameters(*a, 7);
  reset_parameters(*b, 7);
  for (const auto& item : a->state_dict())
    EXPECT_TRUE(at::equal(item.value(), *b->find_tensor(item.key()))) << item.key();
  // The same layer at the same path gets the same numbers in another model.
  Sequential alone({Conv2d(3, 4, 3)});
  reset_parameters(alone, 7);
  EXPECT_TRUE(at::equal(*alone.find_tensor("0.weight"), *a->find_tensor("0.weight")));
  reset_parameters(*b, 8);
  EXPECT_FALSE(at::equal(*a->find_tensor("0.weight"), *b->find_tensor("0.weight")));
}

TEST(Layers, ResetRestoresBuffersAndKeepsTensors) {
  const ModulePtr bn = BatchNorm2d(2);
  const at::Tensor weight = *bn->find_tensor("weight");
  (*bn)(at::randn({4, 2, 3, 3}));
  reset_parameters(*bn, 0);
  EXPECT_TRUE(at::equal(*bn->find_tensor("running_mean"), at::zeros({2})));
  EXPECT_EQ(bn->find_tensor("num_batches_tracked")->item<int64_t>(), 0);
  EXPECT_TRUE(bn->find_tensor("weight")->is_same(weight));
}

// Every constructor argument can be read back as an attribute.
TEST(Layers, AttributesKeepEveryConstructorArgument) {
  const ModulePtr conv =
      Conv2d(3, 4, List{3, 3}, {{"padding", "same"}, {"padding_mode", "reflect"}});
  EXPECT_EQ(conv->describe(),
            "torch.nn.Conv2d(in_channels=3, out_channels=4, kernel_size=[3, 3], stride=1, "
            "padding='same', "
            "dilation=1, groups=1, padding_mode='reflect')");
  EXPECT_EQ(Upsample({{"size", 4}})->describe(),
            "torch.nn.Upsample(size=4, scale_factor=None, mode='nearest', align_corners=None, "
            "recompute_scale_factor=None)");
}

}  // namespace
}  // namespace sparsebit::nn::layers_test
