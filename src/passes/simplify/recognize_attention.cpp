#include "passes/all_passes.h"
#include "passes/inner_step.h"
#include "passes/values.h"

namespace sparsebit::passes {
namespace {

bool is_over_keys(const NodeView& softmax, const Rewriter& rewriter) {
  const fx::Value &dim = softmax.arg("dim"), &dtype = softmax.arg("dtype");
  const std::optional<int64_t> rank = rank_of(softmax.arg("input"), rewriter);
  const bool last = dim.is_int() && (dim.to_int() == -1 || (rank && dim.to_int() == *rank - 1));
  return last && dtype.is_none();
}

/// Whether the key is a matrix: a product with a vector is not attention.
bool has_key_of_rows(const NodeView& scores, const Rewriter& rewriter) {
  const std::optional<int64_t> rank = rank_of(right_side(scores), rewriter);
  return scores.is("bmm") || (rank && *rank >= 2);
}

/// Whether a value is an additive mask: of the type of the scores, not boolean.
bool is_mask(const fx::Value& mask, const NodeView& scores, const Rewriter& rewriter) {
  const std::optional<at::ScalarType> type = type_of(mask, rewriter);
  return mask.is_none() ||
         (type && at::isFloatingType(*type) && type == type_of(*scores.node, rewriter));
}

/// softmax(query @ key^T * scale + mask) @ value. The product has the transposed key; it is
/// transposed once more, which cancels with the transposition of the model.
Replacements attention(const Match& match, Rewriter& rewriter, const fx::Value& query, double scale,
                       const fx::Value& mask) {
  fx::Graph& graph = rewriter.graph();
  const NodeView &scores = match["scores"], &result = match["result"];
  if (!reads(result, match.node("weights")) || !has_key_of_rows(scores, rewriter)) return {};
  if (!is_mask(mask, scores, rewriter) || !is_over_keys(match["weights"], rewriter)) return {};
  fx::Node& key = graph.call_function("torch.transpose", {right_side(scores), -2, -1});
  return {{result.node, graph.call_function("torch.nn.functional.scaled_dot_product_attention",
                                            {query, key, right_side(result)},
                                            {{"attn_mask", mask}, {"scale", scale}})}};
}

/// The value that is added to the scores; None without a mask.
fx::Value mask_of(const Match& match, bool masked, const fx::Node& scores) {
  return masked ? other_operand(match["masked"], scores) : fx::Value();
}

Replacements scaled_query(const Match& match, Rewriter& rewriter, bool masked) {
  const NodeView& scaled = match["scaled"];
  const auto scale = factor_of(scaled, match.node("query"), rewriter);
  if (!scale || !reads(match["scores"], *scaled.node)) return {};
  return attention(match, rewriter, match.node("query"), *scale,
                   mask_of(match, masked, match.node("scores")));
}

Replacements scaled_scores(const Match& match, Rewriter& rewriter, bool masked) {
  const NodeView& scaled = match["scaled"];
  const auto scale = factor_of(scaled, match.node("scores"), rewriter);
  if (!scale) return {};
  return attention(match, rewriter, match["scores"].arg("input"), *scale,
                   mask_of(match, masked, *scaled.node));
}

Replacements not_scaled(const Match& match, Rewriter& rewriter, bool masked) {
  return attention(match, rewriter, match["scores"].arg("input"), 1.0,
                   mask_of(match, masked, match.node("scores")));
}

/// The pattern with the nodes after the (scaled) scores.
Pattern attention_pattern(std::vector<PatternNode> steps, bool masked) {
  const std::string scores = steps.back().name;
  PatternNode mask = inner_step("masked", {"add"}, {scores});
  mask.check = is_plain;
  if (masked) steps.push_back(mask);
  PatternNode weights = inner_step("weights", {"softmax"}, {masked ? "masked" : scores});
  steps.push_back(weights);
  PatternNode result = inner_step("result", {"matmul", "bmm"}, {"weights"});
  result.users = Users::Free;
  steps.push_back(result);
  return Pattern(std::move(steps));
}

}  // namespace

Pass recognize_attention() {
  const PatternNode any{.name = "query"};
  const PatternNode scale_query = inner_step("scaled", {"mul", "div"}, {"query"});
  const PatternNode scale_scores = inner_step("scaled", {"mul", "div"}, {"scores"});
  const PatternNode of_scaled = inner_step("scores", {"matmul", "bmm"}, {"scaled"});
  const PatternNode plain = {
      .name = "scores", .operators = {"matmul", "bmm"}, .users = Users::Inside};
  Pass pass{.name = "recognize_attention",
            .summary = "turn softmax(query @ key^T * scale + mask) @ value into attention",
            .stage = Stage::Simplify};
  for (const bool masked : {false, true}) {
    const auto with = [masked](auto rewrite) {
      return
          [=](const Match& match, Rewriter& rewriter) { return rewrite(match, rewriter, masked); };
    };
    pass.rules.push_back(
        {attention_pattern({any, scale_query, of_scaled}, masked), with(scaled_query)});
    pass.rules.push_back({attention_pattern({plain, scale_scores}, masked), with(scaled_scores)});
    pass.rules.push_back({attention_pattern({plain}, masked), with(not_scaled)});
  }
  return pass;
}

}  // namespace sparsebit::passes
