#include "sparsebit/quant/regions/integer_regions.h"

#include "quant/placement/placement_case.h"

#include "sparsebit/quant/quant_model.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sparsebit::quant::integer_regions_test {
namespace {

/// conv relu6 conv, and a branch in float.
const char* const kNet = R"(
    %x = input()
    %w = self.w
    %b = self.b
    %c = torch.conv2d(%x, %w, %b)
    %r = torch.nn.functional.relu6(%c)
    %d = torch.conv2d(%r, %w, %b)
    %t = torch.tanh(%d)
    return %t)";

QuantModel calibrated(const char* text, const std::string& platform) {
  const auto module = test::graph_of(text);
  const at::Tensor x = at::randn({1, 4, 8, 8}, at::detail::createCPUGenerator(2));
  QuantModel model(*module, default_qconfig(platforms::find_platform(platform)), {x});
  model.prepare_calibration();
  model.forward({x});
  model.calc_qparams();
  return model;
}

/// The decision about the n-th call of an operator; passes rename nodes.
std::optional<Decision> why_float(const QuantModel& model, const std::string& op, int n = 0) {
  const IntegerRegions regions(model.module(), model.platform());
  for (const fx::Node& node : model.module().graph().nodes()) {
    const auto call = fx::resolve(node, model.module());
    if (call && call->op->name == op && n-- == 0) return regions.why_float(node, *call);
  }
  ADD_FAILURE() << "there is no such call of " << op;
  return std::nullopt;
}

TEST(IntegerRegions, ReadsWhatTheQuantizersSay) {
  const QuantModel model = calibrated(kNet, "onnxruntime");
  EXPECT_FALSE(why_float(model, "conv2d"));
  EXPECT_FALSE(why_float(model, "relu6"));  // omitted: the quantizer clips
  EXPECT_FALSE(why_float(model, "conv2d", 1));
  EXPECT_EQ(why_float(model, "tanh")->kind, DecisionKind::NoIntegerForm);
}

/// A quantizer that is switched off after placement makes its consumers float.
TEST(IntegerRegions, NoticesWhatIsSwitchedOff) {
  const QuantModel model = calibrated(kNet, "onnxruntime");
  for (const QuantPoint& point : model.points()) {
    if (point.value == "x") point.quantizer->switch_off("the test");
  }
  ASSERT_TRUE(why_float(model, "conv2d"));
  EXPECT_EQ(why_float(model, "conv2d")->kind, DecisionKind::InputNotQuantized);
}

TEST(IntegerRegions, OtherPlatformsAskNoQuantizedResult) {
  const QuantModel model = calibrated(kNet, "tensorrt_explicit");
  EXPECT_FALSE(why_float(model, "conv2d"));
  EXPECT_FALSE(why_float(model, "conv2d", 1));
}

// --- placement ----------------------------------------------------------------------------------

/// Float nodes according to placement and according to the quantizers in the graph.
struct Floats {
  std::set<std::string> placed, found;
};

Floats floats_of(const QuantModel& model) {
  const fx::GraphModule& module = model.module();
  const IntegerRegions regions(module, model.platform());
  Floats floats;
  for (const fx::Node& node : module.graph().nodes()) {
    const auto call = fx::resolve(node, module);
    if (!call || regions.computes_nothing(node, *call)) continue;
    if (regions.why_float(node, *call)) floats.found.insert(node.name());
    const auto is_about = [&](const Decision& decision) { return decision.node == node.name(); };
    if (std::any_of(model.floats().begin(), model.floats().end(), is_about))
      floats.placed.insert(node.name());
  }
  return floats;
}

struct Network {
  const char* text;
  std::set<std::string> floats;
};

TEST(IntegerRegions, AreThoseThatPlacementMade) {
  const std::vector<Network> networks = {
      {R"(  # a residual sum, a node without an integer form, no integer consumer downstream
    %r = torch.relu(%c)
    %d = torch.conv2d(%r, %w, %b)
    %total = torch.add(%d, %r)
    %q = torch.relu(%total)
    %e = torch.conv2d(%q, %w, %b)
    %t = torch.tanh(%e)
    %f = torch.conv2d(%t, %w, %b)
    %g = torch.sigmoid(%f)
    return %g)",
       {"t", "g"}},
      {R"(  # items of a tuple that are integers, and one that is read by a float node
    %parts = torch.split(%c, [2, 2], 1)
    %p = operator.getitem(%parts, 0)
    %q = operator.getitem(%parts, 1)
    %both = torch.cat([%q, %p], 1)
    %d = torch.conv2d(%both, %w, %b)
    %t = torch.tanh(%q)
    %mixed = torch.cat([%p, %t], 1)
    %e = torch.conv2d(%mixed, %w, %b)
    return (%d, %e))",
       {"t", "mixed"}},
      {R"(  # attention: two products, and float nodes between them
    %h = torch.nn.functional.hardtanh(%c)
    %k = torch.conv2d(%h, %w, %b)
    %turned = torch.transpose(%k, -1, -2)
    %scores = torch.matmul(%h, %turned)
    %scaled = torch.mul(%scores, 0.25)
    %shares = torch.softmax(%scaled, -1)
    %v = torch.nn.functional.linear(%h, %m)
    %mixture = torch.matmul(%shares, %v)
    %total = torch.add(%mixture, %x)
    return %total)",
       {"scaled", "shares", "total"}},
      {R"(  # sizes changed by copies, by sums, and by an operator without an integer form
    %up = torch.nn.functional.interpolate(%c, scale_factor=2.0, mode='nearest')
    %d = torch.conv2d(%up, %w, %b)
    %cubic = torch.nn.functional.interpolate(%d, scale_factor=2.0, mode='bicubic')
    %e = torch.conv2d(%cubic, %w, %b)
    %pool = torch.nn.functional.max_pool2d(%d, 2)
    %mixture = torch.nn.functional.avg_pool2d(%e, 4)
    %total = torch.add(%pool, %mixture)
    %f = torch.conv2d(%total, %w, %b)
    %last = torch.nn.functional.interpolate(%f, scale_factor=2.0, mode='nearest')
    return %last)",
       {"cubic", "last"}},
      {R"(  # numbers as operands have no integer kernel
    %n = torch.add(%c, 1)
    %d = torch.conv2d(%n, %w, %b)
    return %d)",
       {"n"}},
      {R"(  # relus that a quantizer could replace, but whose producer is float
    %first = torch.relu(%x)
    %d = torch.conv2d(%first, %w, %b)
    %r = torch.relu(%c)
    %e = torch.conv2d(%r, %w, %b)
    %total = torch.add(%e, %c)
    %t = torch.tanh(%d)
    %s = torch.relu(%t)
    %f = torch.conv2d(%s, %w, %b)
    return (%total, %f))",
       {"total", "t"}},
  };
  for (const auto& [text, expected] : networks) {
    SCOPED_TRACE(text);
    const std::string start = test::kConv + "    %m = self.m\n";
    const Floats floats = floats_of(calibrated((start + text).c_str(), "onnxruntime"));
    EXPECT_EQ(floats.found, expected);
    EXPECT_EQ(floats.placed, expected);
  }
}

/// With operator_inputs, operands that are numbers are allowed.
TEST(IntegerRegions, NumbersAsOperandsElsewhere) {
  const std::string text = test::kConv + R"(
    %n = torch.add(%c, 1)
    %d = torch.conv2d(%n, %w, %b)
    return %d)";
  for (const char* platform : {"qdq", "openvino", "tengine_u8", "tensorrt"}) {
    SCOPED_TRACE(platform);
    const Floats floats = floats_of(calibrated(text.c_str(), platform));
    EXPECT_EQ(floats.found, floats.placed);
  }
}

}  // namespace
}  // namespace sparsebit::quant::integer_regions_test
