#include "cli/decision_files.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/report/decisions.h"
#include "sparsebit/report/node_names.h"
#include "sparsebit/report/sentences.h"

#include <filesystem>

namespace sparsebit::cli {

void check_strictly(const quant::QuantModel& model, const report::Coverage& coverage) {
  const report::NodeNames names(model.module().graph());
  std::vector<std::string> problems = model.unused_patterns();
  const auto add = [&](const quant::Decision& decision) {
    problems.push_back(decision.node + ": " + report::sentence(decision, model.platform()));
  };
  for (const quant::Decision& decision : model.floats()) {
    if (decision.kind == quant::DecisionKind::UnknownOperator) add(names.shown(decision));
  }
  for (const report::NodeCoverage* node : coverage.floats()) {
    if (node->macs > 0) add(*node->why_float);
  }
  if (problems.empty()) return;
  Error error(ErrorKind::InvalidArgument, "--strict: not quantized as requested:");
  for (const std::string& problem : problems) error.add_context(problem);
  throw error;
}

void write_decisions(const std::string& file, const quant::QuantModel& model) {
  const auto decisions = report::decisions_of(model);
  const bool json = std::filesystem::path(file).extension() == ".json";
  write_file_atomically(file, json ? report::to_json(decisions, model.platform())
                                   : report::to_text(decisions, model.platform()));
}

}  // namespace sparsebit::cli
