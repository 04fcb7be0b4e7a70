#include "easy/model_source.h"

#include "easy/file_kind.h"
#include "easy/usage_error.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/frontends/pt2.h"
#include "sparsebit/frontends/torchscript.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/zoo/zoo.h"

#include <filesystem>

namespace sparsebit::easy {
namespace {

constexpr std::string_view kZoo = "zoo:";

void warn_unmatched(const std::vector<std::string>& patterns, const std::string& source) {
  for (const std::string& pattern : patterns) {
    log_warning("--skip '{}' matches no module that {} calls", pattern, source);
  }
}

LoadedModel load_zoo(const std::string& source, const ModelOptions& options) {
  SPARSEBIT_CHECK(source != kZooList, InvalidArgument, source,
                  " is not a model; 'sparsebit inspect ", source,
                  "' prints the models, such as zoo:resnet18");
  const std::string name = source.substr(kZoo.size());
  if (!zoo::architectures().contains(name)) {
    const std::string near = zoo::architectures().did_you_mean(name);
    throw UsageError("unknown zoo model '" + name + "'" +
                     (near.empty() ? "; 'sparsebit inspect zoo:list' lists them" : near));
  }
  zoo::Example example = zoo::make(name, options.seed);
  fx::QTracer tracer(options.skip);
  LoadedModel model{tracer.trace(*example.model), std::move(example.inputs), source};
  model.module->eval();
  warn_unmatched(tracer.unmatched_patterns(), source);
  return model;
}

LoadedModel load_onnx_file(const std::string& source, const ModelOptions& options) {
  if (!options.skip.empty()) {
    log_warning("--skip does nothing: {} is an ONNX file, which has no modules", source);
  }
  return {frontends::import_onnx(source), {}, source};
}

LoadedModel load_torchscript_file(const std::string& source, const ModelOptions& options) {
  frontends::TorchScriptModel model = frontends::import_torchscript(
      source,
      {.skip = options.skip, .given_inputs = options.given_inputs, .shapes = options.shapes});
  warn_unmatched(model.unmatched_patterns, source);
  return {std::move(model.module), {}, source, model.size_decisions};
}

LoadedModel load_pt2_file(const std::string& source, const ModelOptions& options) {
  if (!options.skip.empty()) {
    log_warning("--skip does nothing: {} is a torch.export file, which has no modules", source);
  }
  return {frontends::import_pt2(source), {}, source};
}

/// Suggests the `zoo:` prefix for a missing file with the name of a zoo model.
void check_exists(const std::string& source) {
  std::error_code ignored;
  if (std::filesystem::exists(source, ignored)) return;
  const bool in_zoo = zoo::architectures().contains(source);
  SPARSEBIT_CHECK(!in_zoo, InvalidArgument, source,
                  ": there is no such file; did you mean 'zoo:", source, "'?");
}

}  // namespace

LoadedModel load_model(const std::string& source, const ModelOptions& options) {
  if (source.starts_with(kZoo)) return load_zoo(source, options);
  check_exists(source);
  const FileKind kind = file_kind(source);
  switch (kind.format) {
    case ModelFormat::Onnx:
      return load_onnx_file(source, options);
    case ModelFormat::TorchScript:
      return load_torchscript_file(source, options);
    case ModelFormat::Pt2:
      return load_pt2_file(source, options);
    case ModelFormat::None:
      break;
  }
  throw Error(ErrorKind::InvalidModel,
              {.what = "not a model: " + kind.description +
                       "; models are ONNX, TorchScript and torch.export (.pt2) files",
               .where = source});
}

}  // namespace sparsebit::easy
