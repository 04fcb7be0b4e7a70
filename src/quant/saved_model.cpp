#include "sparsebit/quant/saved_model.h"

#include "quant/calibration/scale_fits.h"
#include "quant/config/platform_check.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/fx/ops/value_text.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/quant/quantizers/bias.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace sparsebit::quant {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kFormat = 2;                                      // format 1 had no platform
constexpr std::array kTargets = {"weight", "feature", "bias"};  // in the order of enum Target

Json json_of(const QuantSpec& spec) {
  Json json = {{"target", kTargets[static_cast<size_t>(spec.target)]},
               {"scheme", to_string(spec.scheme)},
               {"bits", spec.bits},
               {"restricted", spec.restricted},
               {"group_size", spec.group_size},
               {"channel_axis", spec.channel_axis},
               {"scale_bits", spec.scale_bits},
               {"pot_scale", spec.pot_scale}};
  if (spec.range) json["range"] = {spec.range->low, spec.range->high};
  return json;
}

/// Reads a setting that older files do not have.
template <class Setting>
void read_optional(const Json& json, const char* key, Setting& setting) {
  if (json.contains(key)) setting = json.at(key).get<Setting>();
}

QuantSpec spec_from(const Json& json) {
  QuantSpec spec;
  const auto target = std::find(kTargets.begin(), kTargets.end(), json.at("target"));
  SPARSEBIT_CHECK(target != kTargets.end(), InvalidModel, "unknown quantizer target ",
                  json.at("target").dump());
  spec.target = static_cast<Target>(target - kTargets.begin());
  spec.scheme = scheme_from_text(json.at("scheme").get<std::string>());
  spec.bits = json.at("bits").get<int>();
  spec.restricted = json.at("restricted").get<bool>();
  spec.group_size = json.at("group_size").get<int64_t>();
  spec.channel_axis = json.at("channel_axis").get<int64_t>();
  spec.scale_bits = json.at("scale_bits").get<int>();
  read_optional(json, "pot_scale", spec.pot_scale);
  if (json.contains("range"))
    spec.range =
        IntegerRange{json.at("range").at(0).get<int64_t>(), json.at("range").at(1).get<int64_t>()};
  const int most = spec.target == Target::Bias ? kBitsOfBias : kMostBits;
  const bool possible = spec.bits >= kLeastBits && spec.bits <= most && spec.group_size >= 0 &&
                        spec.channel_axis >= 0 && spec.scale_bits >= 0 && spec.scale_bits <= 24 &&
                        (!spec.range || spec.range->fits(spec.bits)) &&
                        (!spec.range || !spec.is_symmetric() || spec.range->is_balanced());
  SPARSEBIT_CHECK(possible, InvalidModel, "invalid quantizer settings");
  return spec;
}

Json json_of(const TensorConfig& config) {
  return {{"quantizer", config.quantizer.type},
          {"pact_alpha", config.quantizer.pact_alpha},
          {"avx2_safe", config.quantizer.avx2_safe},
          {"observer", config.observer.type},
          {"percentile_alpha", config.observer.percentile_alpha},
          {"ema_ratio", config.observer.ema_ratio},
          {"laplace", config.observer.distribution == Distribution::Laplace},
          {"nlc", config.observer.layout == Layout::Nlc},
          {"dsq_alpha", config.quantizer.dsq_alpha},
          {"lsq_grad_scaling", config.quantizer.lsq_grad_scaling},
          {"quantile", config.observer.quantile},
          {"quantile_bins", config.observer.quantile_bins},
          {"std_scale", config.observer.std_scale},
          {"std_widens", config.observer.std_widens},
          {"error_exponent", config.observer.error_exponent},
          {"network_input", config.observer.network_input}};
}

TensorConfig config_from(const Json& json, const QuantSpec& spec) {
  TensorConfig config;
  config.scheme = spec.scheme;
  config.quantizer.type = json.at("quantizer").get<std::string>();
  config.quantizer.bits = spec.bits;
  config.quantizer.group_size = spec.group_size;
  config.quantizer.restricted = spec.restricted;
  config.quantizer.scale_bits = spec.scale_bits;
  config.quantizer.pot_scale = spec.pot_scale;
  config.quantizer.range = spec.range;
  config.quantizer.pact_alpha = json.at("pact_alpha").get<double>();
  config.quantizer.avx2_safe = json.at("avx2_safe").get<bool>();
  config.observer.type = json.at("observer").get<std::string>();
  config.observer.percentile_alpha = json.at("percentile_alpha").get<double>();
  config.observer.ema_ratio = json.at("ema_ratio").get<double>();
  config.observer.distribution =
      json.at("laplace").get<bool>() ? Distribution::Laplace : Distribution::Gauss;
  config.observer.layout = json.at("nlc").get<bool>() ? Layout::Nlc : Layout::Nchw;
  read_optional(json, "dsq_alpha", config.quantizer.dsq_alpha);
  read_optional(json, "lsq_grad_scaling", config.quantizer.lsq_grad_scaling);
  read_optional(json, "quantile", config.observer.quantile);
  read_optional(json, "quantile_bins", config.observer.quantile_bins);
  read_optional(json, "std_scale", config.observer.std_scale);
  read_optional(json, "std_widens", config.observer.std_widens);
  read_optional(json, "error_exponent", config.observer.error_exponent);
  read_optional(json, "network_input", config.observer.network_input);
  const bool possible = config.observer.quantile_bins > 0 && config.quantizer.dsq_alpha > 0 &&
                        config.quantizer.dsq_alpha < 1;
  SPARSEBIT_CHECK(possible, InvalidModel, "invalid quantizer settings");
  return config;
}

Json json_of(const Decision& decision) {
  Json json = {{"kind", to_string(decision.kind)}, {"node", decision.node}};
  if (!decision.other.empty()) json["other"] = decision.other;
  return json;
}

Decision decision_from(const Json& json) {
  return {decision_kind_from_text(json.at("kind").get<std::string>()),
          json.at("node").get<std::string>(), json.value("other", "")};
}

/// The path under which a module or tensor was seen before; nullopt the first time.
std::optional<std::string> seen_as(std::map<const void*, std::string>& paths, const void* thing,
                                   const std::string& path) {
  const auto [it, is_new] = paths.emplace(thing, path);
  return is_new ? std::nullopt : std::optional(it->second);
}

}  // namespace

class SavedModelWriter {
 public:
  explicit SavedModelWriter(const QuantModel& model) : model_(model), module_(*model.module_) {}

  SavedModel write() {
    for (const QuantPoint& point : model_.points_) {
      const bool done = point.quantizer->is_calibrated() || point.quantizer->is_off_for_good();
      SPARSEBIT_CHECK(done, InvalidArgument, "not calibrated, so the model cannot be saved, ",
                      point.place());
    }
    Json json;
    json["format"] = kFormat;
    json["fixed_batch"] = model_.fixed_batch_;
    json["type"] = module_.type();
    json["graph"] = fx::to_text(module_.graph());
    json["nodes"] = nodes();
    json["output_names"] = module_.output_names();
    for (const auto& [path, module] : module_.named_modules(fx::Duplicates::Keep))
      json["modules"].push_back(json_of_module(path, *module));
    json["points"] = points();
    json["platform"] = model_.config_.platform->text;
    if (model_.config_.schedule.bias_correction) json["bias_correction"] = true;
    for (const Decision& decision : model_.floats_) json["floats"].push_back(json_of(decision));
    saved_.description = json.dump();
    return std::move(saved_);
  }

 private:
  Json nodes() const {
    Json list = Json::array();
    for (const fx::Node& node : module_.graph().nodes()) {
      Json entry = {{"name", node.name()}, {"path", node.module_path()}};
      if (!node.source_name().empty()) entry["source_name"] = node.source_name();
      if (const auto& info = node.tensor_info()) {
        entry["shape"] = info->shape;
        entry["dtype"] = fx::dtype_name(info->dtype);
      }
      list.push_back(std::move(entry));
    }
    return list;
  }

  Json json_of_module(const std::string& path, const fx::Module& module) {
    Json entry = {{"path", path}};
    if (const std::optional<std::string> first = seen_as(paths_, &module, path)) {
      entry["same_as"] = *first;
      return entry;
    }
    const auto* quantizer = dynamic_cast<const Quantizer*>(&module);
    const bool is_plain =
        module.is_operator() || typeid(module) == typeid(fx::Module) || &module == &module_;
    SPARSEBIT_CHECK(quantizer || is_plain, Unsupported, "the module '", path, "' of class ",
                    module.type(), " is C++ code, which cannot be saved");
    entry["type"] = module.type();
    if (quantizer) entry["quantizer"] = json_of_quantizer(*quantizer);
    for (const auto& item : module.attributes())
      entry["attributes"][item.key()] = to_string(item.value());
    add_tensors(entry["parameters"], module.own_parameters(), path);
    add_tensors(entry["buffers"], module.own_buffers(), path);
    return entry;
  }

  static Json json_of_quantizer(const Quantizer& quantizer) {
    const Quantizer::State state = quantizer.state();
    return {{"spec", json_of(quantizer.spec())},
            {"config", json_of(quantizer.config())},
            {"on", state.on},
            {"calibrated", state.calibrated},
            {"why_off", state.why_off ? json_of(*state.why_off) : Json()}};
  }

  /// name -> the path under which the tensor is stored; null if it is undefined.
  void add_tensors(Json& entry, const fx::NamedTensors& tensors, const std::string& owner) {
    entry = Json::object();
    for (const auto& item : tensors) {
      if (!item.value().defined()) {
        entry[item.key()] = nullptr;
        continue;
      }
      const std::string path = owner.empty() ? item.key() : owner + "." + item.key();
      const auto first = seen_as(paths_, item.value().unsafeGetTensorImpl(), path);
      if (!first) saved_.tensors.insert(path, item.value().detach());
      entry[item.key()] = {{"tensor", first.value_or(path)},
                           {"trained", item.value().requires_grad()}};
    }
  }

  Json points() const {
    Json list = Json::array();
    for (const QuantPoint& point : model_.points_) {
      list.push_back(
          {{"name", point.name},
           {"value", point.value},
           {"consumers", point.consumers},
           {"observed", point.observed},
           {"quantizer", paths_.at(static_cast<const fx::Module*>(point.quantizer.get()))}});
    }
    return list;
  }

  const QuantModel& model_;
  fx::GraphModule& module_;
  SavedModel saved_;
  std::map<const void*, std::string> paths_;  // of modules and tensors, to write each once
};

class SavedModelReader {
 public:
  explicit SavedModelReader(const SavedModel& saved) : saved_(saved) {}

  std::unique_ptr<QuantModel> read() {
    const Json json = Json::parse(saved_.description);
    SPARSEBIT_CHECK(json.at("format") == kFormat, InvalidModel, "unsupported format; expected ",
                    kFormat, ", found ", json.at("format").dump());
    model_.reset(new QuantModel());  // not make_unique: the constructor is private
    module_ = std::make_shared<fx::GraphModule>(
        fx::parse_graph(json.at("graph").get<std::string>()), json.at("type").get<std::string>());
    model_->module_ = module_;
    model_->fixed_batch_ = json.at("fixed_batch").get<int64_t>();
    SPARSEBIT_CHECK(model_->fixed_batch_ >= 0, InvalidModel,
                    "invalid fixed_batch; expected 0 or more, found ", model_->fixed_batch_);
    module_->set_output_names(json.at("output_names").get<std::vector<std::string>>());
    for (const Json& entry : json.at("modules")) read_module(entry);
    read_nodes(json.at("nodes"));
    for (const Json& entry : json.at("points")) read_point(entry);
    model_->config_.platform =
        platforms::parse_platform(json.at("platform").get<std::string>(), "the saved platform");
    check_platform(*model_->config_.platform);
    model_->config_.schedule.bias_correction = json.value("bias_correction", false);
    if (json.contains("floats")) {
      for (const Json& entry : json.at("floats")) model_->floats_.push_back(decision_from(entry));
    }
    module_->eval();
    fx::lint(module_->graph(), *module_);
    const auto& nodes = module_->graph().nodes();
    const bool ends = std::any_of(nodes.begin(), nodes.end(), [](const fx::Node& node) {
      return node.op() == fx::Opcode::Output;
    });
    SPARSEBIT_CHECK(ends, InvalidModel, "the graph has no output");
    for (const QuantPoint& point : model_->points_)
      with_context([&] { check_point(point); }, [&] { return point.place(); });
    set_bias_scales(*module_, model_->points_, model_->platform());
    return std::move(model_);
  }

 private:
  void read_module(const Json& entry) {
    const std::string path = entry.at("path");
    if (entry.contains("same_as")) {
      const fx::ModulePtr first = module_->find_module(entry.at("same_as").get<std::string>());
      SPARSEBIT_CHECK(first, InvalidModel, "module '", path, "': same_as names the module ",
                      entry.at("same_as").dump(), ", which is missing");
      return module_->set_module(path, first);
    }
    fx::Module* made = path.empty() ? module_.get() : nullptr;
    if (!made) {
      const fx::ModulePtr module = make(entry);
      module_->set_module(path, module);
      made = module.get();
    }
    if (entry.contains("attributes")) {
      for (const auto& [name, text] : entry.at("attributes").items())
        made->set_attribute(name,
                            fx::ValueReader(text.get_ref<const std::string&>(), path).read_value());
    }
    read_tensors(*made, entry);
    if (entry.contains("quantizer")) restore_state(*made, entry.at("quantizer"));
  }

  static fx::ModulePtr make(const Json& entry) {
    const std::string type = entry.at("type");
    if (entry.contains("quantizer")) {
      const Json& json = entry.at("quantizer");
      const QuantSpec spec = spec_from(json.at("spec"));
      return make_quantizer(spec, config_from(json.at("config"), spec));
    }
    const fx::Spelling* spelling = fx::operators().find(type);
    const bool is_operator = spelling && spelling->module;
    return std::make_shared<fx::Module>(type,
                                        is_operator ? spelling->module->forward : fx::Schema());
  }

  static void restore_state(fx::Module& module, const Json& json) {
    auto* quantizer = dynamic_cast<Quantizer*>(&module);
    SPARSEBIT_CHECK(quantizer, InvalidModel, "the root module cannot be a quantizer");
    quantizer->restore({json.at("on").get<bool>(), json.at("calibrated").get<bool>(),
                        json.at("why_off").is_null()
                            ? std::nullopt
                            : std::optional(decision_from(json.at("why_off")))});
  }

  /// Checks that the node names exist and that the shapes of the scales fit the scheme and weight.
  void check_point(const QuantPoint& point) const {
    const auto is_node = [&](const std::string& name) { return module_->graph().find(name); };
    const bool known =
        is_node(point.name) && std::all_of(point.consumers.begin(), point.consumers.end(), is_node);
    SPARSEBIT_CHECK(known, InvalidModel, "its nodes are not in the graph");
    const QuantSpec& spec = point.quantizer->spec();
    const auto [scale, zero_point] = std::pair(point.quantizer->find_tensor("scale"),
                                               point.quantizer->find_tensor("zero_point"));
    const auto axes = spec.is_per_channel() ? (spec.group_size > 0 ? 2 : 1) : 0;
    const bool fits = !point.quantizer->is_calibrated() || scale->dim() == axes;
    SPARSEBIT_CHECK(fits && scale->is_floating_point() && zero_point->is_floating_point() &&
                        scale->sizes() == zero_point->sizes(),
                    InvalidModel, "its scales ", scale->sizes(), " and zero points ",
                    zero_point->sizes(), " do not fit the scheme ", to_string(spec.scheme));
    if (point.is_activation()) return;
    const at::Tensor* weight = module_->find_tensor(point.value);
    SPARSEBIT_CHECK(weight && weight->dim() > spec.channel_axis, InvalidModel, "the weight '",
                    point.value, "' is missing or has no axis ", spec.channel_axis);
    check_learned(*point.quantizer, *weight);
    SPARSEBIT_CHECK(scale->dim() == 0 || scale->size(0) == weight->size(spec.channel_axis),
                    InvalidModel, "expected ", weight->size(spec.channel_axis),
                    " scales for a weight of shape ", weight->sizes(), ", found ", scale->size(0));
  }

  static void check_learned(const Quantizer& quantizer, const at::Tensor& weight) {
    if (const at::Tensor* integers = quantizer.learned_integers()) {
      const bool fits = integers->sizes() == weight.sizes() && !integers->is_floating_point() &&
                        integers->ge(quantizer.spec().qmin()).all().item<bool>() &&
                        integers->le(quantizer.spec().qmax()).all().item<bool>();
      SPARSEBIT_CHECK(fits, InvalidModel, "its integers ", integers->sizes(),
                      " do not fit the weight ", weight.sizes());
    }
    const auto* bias = dynamic_cast<const Bias*>(&quantizer);
    SPARSEBIT_CHECK(
        !bias || !bias->has_correction() || bias->corrected(weight).sizes() == weight.sizes(),
        InvalidModel, "its correction does not fit the bias ", weight.sizes());
  }

  void read_tensors(fx::Module& module, const Json& entry) {
    for (const fx::NamedTensors* own : {&module.own_parameters(), &module.own_buffers()}) {
      for (const auto& item : *own) {
        const bool has =
            entry.at("parameters").contains(item.key()) || entry.at("buffers").contains(item.key());
        SPARSEBIT_CHECK(has, InvalidModel, "'", item.key(), "' of '",
                        entry.at("path").get<std::string>(), "' is missing");
      }
    }
    module.keep_only(names_of_children(module));
    for (const auto& [name, where] : entry.at("parameters").items())
      module.add_parameter(name, tensor_at(where, module), fx::Grad::AsGiven);
    for (const auto& [name, where] : entry.at("buffers").items())
      module.add_buffer(name, tensor_at(where, module));
  }

  static std::unordered_set<std::string> names_of_children(const fx::Module& module) {
    std::unordered_set<std::string> names;
    for (const auto& item : module.children()) names.insert(item.key());
    return names;
  }

  at::Tensor tensor_at(const Json& where, const fx::Module& owner) {
    const bool optional = !dynamic_cast<const Quantizer*>(&owner);
    SPARSEBIT_CHECK(optional || !where.is_null(), InvalidModel,
                    "a tensor of a quantizer is missing");
    if (where.is_null()) return {};
    const std::string path = where.at("tensor");
    const at::Tensor* tensor = saved_.tensors.find(path);
    SPARSEBIT_CHECK(tensor, InvalidModel, "the tensor '", path, "' is missing");
    const auto [it, is_new] = tensors_.emplace(path, at::Tensor());
    if (is_new) it->second = tensor->clone();
    if (where.at("trained").get<bool>() && it->second.is_floating_point())
      it->second.requires_grad_();
    return it->second;
  }

  void read_nodes(const Json& nodes) {
    std::map<std::string, fx::Node*> by_name;
    for (fx::Node& node : module_->graph().nodes()) by_name[node.name()] = &node;
    for (const Json& entry : nodes) {
      const auto it = by_name.find(entry.at("name").get<std::string>());
      if (it == by_name.end()) continue;  // the text has another name for the output
      it->second->set_module_path(entry.at("path"));
      it->second->set_source_name(entry.value("source_name", ""));
      if (!entry.contains("shape")) continue;
      const std::string dtype = "torch." + entry.at("dtype").get<std::string>();
      it->second->set_tensor_info(
          fx::TensorInfo{entry.at("shape").get<std::vector<int64_t>>(),
                         fx::ValueReader(dtype, "dtype").read_value().dtype()});
    }
  }

  void read_point(const Json& entry) {
    const std::string path = entry.at("quantizer");
    const auto quantizer = std::dynamic_pointer_cast<Quantizer>(module_->find_module(path));
    SPARSEBIT_CHECK(quantizer, InvalidModel, "there is no quantizer '", path, "'");
    model_->points_.push_back({entry.at("name"), entry.at("value"),
                               entry.at("consumers").get<std::vector<std::string>>(), quantizer,
                               entry.at("observed").get<bool>()});
  }

  const SavedModel& saved_;
  std::unique_ptr<QuantModel> model_;
  std::shared_ptr<fx::GraphModule> module_;
  std::map<std::string, at::Tensor> tensors_;  // by path, to restore shared tensors as shared
};

SavedModel save_model(const QuantModel& model) { return SavedModelWriter(model).write(); }

std::unique_ptr<QuantModel> restore_model(const SavedModel& saved) {
  const std::string start = "not a saved quantized model: ";
  try {
    return SavedModelReader(saved).read();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::InvalidModel) throw;
    throw with_prefix(start, e, ErrorKind::InvalidModel);
  } catch (const std::exception& e) {
    throw Error(ErrorKind::InvalidModel, start + message_of(e));
  }
}

}  // namespace sparsebit::quant
