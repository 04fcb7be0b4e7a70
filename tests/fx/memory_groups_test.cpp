#include "sparsebit/fx/memory_groups.h"

#include "sparsebit/fx/parser.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::memory_groups_test {
namespace {

TEST(MemoryGroups, ViewsAndWritersShareMemoryWithTheirInput) {
  GraphModule module(parse_graph(R"(
      %x = input()
      %a = torch.neg(%x)
      %v = %a.view(-1)
      %w = %v.add_(1)
      %b = torch.neg(%x)
      return (%a, %b, %w))"),
                     "Model");
  const MemoryGroups groups(module);
  const auto node = [&](const char* name) -> const Node& { return *module.graph().find(name); };
  EXPECT_EQ(groups.group_of(node("a")), groups.group_of(node("w")));
  EXPECT_NE(groups.group_of(node("a")), groups.group_of(node("b")));
  EXPECT_TRUE(groups.is_written(node("a")));
  EXPECT_FALSE(groups.is_written(node("x")));
  EXPECT_TRUE(groups.is_writer(node("w")));
  EXPECT_FALSE(groups.is_writer(node("v")));
}

TEST(MemoryGroups, ReadersOfOneTensorAreOne) {
  GraphModule module(parse_graph(R"(
      %x = input()
      %n = self.count
      %w = %n.add_(1)
      %m = self.count
      %o = self.other
      return (%m, %o, %w))"),
                     "Model");
  module.add_buffer("count", at::zeros({1}));
  module.add_buffer("other", at::zeros({1}));
  const MemoryGroups groups(module);
  EXPECT_TRUE(groups.is_written(*module.graph().find("m")));
  EXPECT_TRUE(groups.is_written(*module.find_tensor("count")));
  EXPECT_FALSE(groups.is_written(*module.find_tensor("other")));
}

}  // namespace
}  // namespace sparsebit::fx::memory_groups_test
