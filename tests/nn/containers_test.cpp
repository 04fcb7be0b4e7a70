#include "sparsebit/nn/containers.h"

#include "sparsebit/core/error.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::nn::containers_test {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

TEST(Containers, SequentialCallsItsChildrenInOrder) {
  Sequential model({Linear(2, 3), ReLU(), Linear(3, 1)});
  const at::Tensor x = at::ones({4, 2});
  const Value expected = model.child("2")(model.child("1")(model.child("0")(x)));
  EXPECT_TRUE(at::equal(model(x).tensor(), expected.tensor()));
  EXPECT_THAT(model.children().keys(), ElementsAre("0", "1", "2"));
  const Sequential named({{"first", Linear(2, 2)}, {"second", ReLU()}});
  EXPECT_THAT(named.children().keys(), ElementsAre("first", "second"));
}

TEST(Containers, EmptySequentialIsTheIdentity) {
  Sequential empty;
  EXPECT_EQ(empty(5), Value(5));
}

TEST(Containers, ListsAndDictsHoldModulesForTheirOwner) {
  ModuleList list({Linear(2, 2)});
  list.append(ReLU());
  EXPECT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].type(), "torch.nn.ReLU");
  ModuleDict dict({{"act", ReLU()}});
  EXPECT_EQ(dict["act"].type(), "torch.nn.ReLU");
  EXPECT_THAT(
      [&] { list.invoke({}); },
      ThrowsMessage<Error>("torch.nn.ModuleList has no forward; call its children one by one"));
  EXPECT_THAT(
      [&] { dict.invoke({}); },
      ThrowsMessage<Error>("torch.nn.ModuleDict has no forward; call its children one by one"));
}

TEST(Containers, ClonesAreDeep) {
  Sequential model({Linear(2, 2)});
  const ModulePtr copy = model.clone();
  EXPECT_EQ(copy->type(), "torch.nn.Sequential");
  EXPECT_FALSE(copy->find_tensor("0.weight")->is_same(*model.find_tensor("0.weight")));
  const at::Tensor x = at::ones({1, 2});
  EXPECT_TRUE(at::equal((*copy)(x).tensor(), model(x).tensor()));
}

}  // namespace
}  // namespace sparsebit::nn::containers_test
