#include "passes/pass_case.h"

#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::remove_identity_test {
namespace {

using test::model_of;
using test::simplified;
using testing::HasSubstr;

TEST(RemoveIdentity, IdentitiesAndDropoutInEvalMode) {
  EXPECT_EQ(simplified("remove_identity", R"(
      %x = input()
      %a = self.id(%x)
      %b = self.drop(%a)
      %c = torch.nn.functional.dropout(%b, 0.5, False)
      %d = torch.neg(%c)
      return %d)",
                       {{"id", nn::Identity()}, {"drop", nn::Dropout(0.5)}}),
            "%x = input()\n%d = torch.neg(%x)\nreturn %d\n");
}

TEST(RemoveIdentity, DropoutThatIsOnStays) {
  const auto module =
      model_of("%x = input()\n%a = self.drop(%x)\nreturn %a", {{"drop", nn::Dropout(0.5)}});
  module->train();
  EXPECT_TRUE(run_selected(*module, {"remove_identity"}).changes.empty());
}

TEST(RemoveIdentity, OneThatIsToStayStays) {
  const fx::ModulePtr identity = nn::Identity();
  identity->set_attribute("remove", false);
  EXPECT_THAT(simplified("remove_identity", "%x = input()\n%a = self.id(%x)\nreturn %a",
                         {{"id", identity}}),
              HasSubstr("self.id"));
}

}  // namespace
}  // namespace sparsebit::passes::remove_identity_test
