#include "sparsebit/core/how_many.h"

#include <gtest/gtest.h>

namespace sparsebit::how_many_test {
namespace {

TEST(HowMany, OneIsSingular) {
  EXPECT_EQ(how_many(0, "node"), "0 nodes");
  EXPECT_EQ(how_many(1, "node"), "1 node");
  EXPECT_EQ(how_many(2, "node"), "2 nodes");
}

TEST(HowMany, OtherPluralsAreGiven) {
  EXPECT_EQ(how_many(1, "class", "classes"), "1 class");
  EXPECT_EQ(how_many(10, "class", "classes"), "10 classes");
  EXPECT_EQ(how_many(1, "node stays", "nodes stay"), "1 node stays");
}

}  // namespace
}  // namespace sparsebit::how_many_test
