#include "sparsebit/report/decisions.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/printable_text.h"

#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/quantizers/bias.h"
#include "sparsebit/report/node_names.h"
#include "sparsebit/report/sentences.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace sparsebit::report {
namespace {

using fx::Node;
using quant::QuantPoint;

IntegerTensor describe(const QuantPoint& point, const std::string& part) {
  const quant::QuantSpec& spec = point.quantizer->spec();
  IntegerTensor tensor{point.value, part, point.quantizer->summary(), spec.bits, 0, 0};
  if (!point.quantizer->is_calibrated()) return tensor;
  const auto [scale, zero] = point.quantizer->covering_qparams();
  const auto bound = [&](int64_t q) { return (static_cast<double>(q) - zero) * scale; };
  tensor.low = bound(spec.qmin()).min().item<double>();
  tensor.high = bound(spec.qmax()).max().item<double>();
  return tensor;
}

std::string part_of(const QuantPoint& point) {
  return point.is_activation() ? "input" : point.is_weight() ? "weight" : "bias";
}

bool computes(const Node& node, const std::unordered_map<std::string, const QuantPoint*>& by_node) {
  const bool is_call = node.op() == fx::Opcode::CallFunction ||
                       node.op() == fx::Opcode::CallMethod || node.op() == fx::Opcode::CallModule;
  return is_call && !by_node.contains(node.name());
}

}  // namespace

std::vector<NodeDecision> decisions_of(const quant::QuantModel& model) {
  std::unordered_map<std::string, const QuantPoint*> by_node;
  std::unordered_map<std::string, std::vector<const QuantPoint*>> by_reader, by_value;
  std::unordered_map<std::string, quant::Decision> switched_off;  // why, by reader
  for (const QuantPoint& point : model.points()) {
    by_node[point.name] = &point;
    if (point.quantizer->is_off_for_good()) {
      for (const std::string& reader : point.consumers)
        switched_off.emplace(reader, *point.quantizer->why_off());
      continue;
    }
    if (quant::stays_float(*point.quantizer)) continue;
    for (const std::string& reader : point.consumers) by_reader[reader].push_back(&point);
    if (point.is_activation()) by_value[point.value].push_back(&point);
  }
  std::unordered_map<std::string, quant::Decision> reasons;
  for (const quant::Decision& decision : model.floats()) reasons.emplace(decision.node, decision);
  const NodeNames names(model.module().graph());
  std::vector<NodeDecision> decisions;
  for (const Node& node : model.module().graph().nodes()) {
    if (!computes(node, by_node)) continue;
    const fx::Spelling* spelling = fx::find_spelling(node, model.module());
    NodeDecision decision{
        .node = node.name(), .shown = node.shown_name(), .op = spelling ? spelling->op->name : ""};
    const auto reason = reasons.find(node.name());
    for (const QuantPoint* point : by_reader[node.name()])
      decision.integers.push_back(describe(*point, part_of(*point)));
    if (reason != reasons.end()) {
      decision.why_float = names.shown(reason->second);
    } else if (const auto off = switched_off.find(node.name()); off != switched_off.end()) {
      decision.why_float = names.shown(off->second);
    } else {
      for (const QuantPoint* point : by_value[node.name()])
        decision.integers.push_back(describe(*point, "output"));
    }
    if (decision.integers.empty() && !decision.why_float)
      decision.why_float = quant::Decision{quant::DecisionKind::NothingQuantized, node.name()};
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

std::string to_text(const std::vector<NodeDecision>& decisions,
                    const platforms::Platform& platform) {
  size_t of_node = 4, of_op = 8;
  for (const NodeDecision& decision : decisions) {
    of_node = std::max(of_node, printable(decision.shown, kMostOfCell).size());
    of_op = std::max(of_op, decision.op.size());
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  decision\n", "node", of_node, "operator", of_op);
  for (const NodeDecision& decision : decisions) {
    std::string what =
        decision.why_float ? "float: " + sentence(*decision.why_float, platform) : "";
    for (const IntegerTensor& tensor : decision.integers)
      what += fmt::format("{}{} {}", what.empty() ? "" : "; ", tensor.part, tensor.kind);
    text += fmt::format("{:<{}}  {:<{}}  {}\n", printable(decision.shown, kMostOfCell), of_node,
                        decision.op, of_op, printable(what));
  }
  return text;
}

std::string to_json(const std::vector<NodeDecision>& decisions,
                    const platforms::Platform& platform) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const NodeDecision& decision : decisions) {
    nlohmann::ordered_json entry = {{"node", decision.node}, {"operator", decision.op}};
    if (decision.shown != decision.node) entry["source_name"] = decision.shown;
    entry["decision"] = decision.is_quantized() ? "quantized" : "float";
    if (decision.why_float) {
      entry["kind"] = to_string(decision.why_float->kind);
      entry["reason"] = sentence(*decision.why_float, platform);
    }
    for (const IntegerTensor& tensor : decision.integers) {
      entry["integers"].push_back({{"part", tensor.part},
                                   {"value", tensor.value},
                                   {"kind", tensor.kind},
                                   {"bits", tensor.bits},
                                   {"low", tensor.low},
                                   {"high", tensor.high}});
    }
    list.push_back(std::move(entry));
  }
  return json_text(list);
}

}  // namespace sparsebit::report
