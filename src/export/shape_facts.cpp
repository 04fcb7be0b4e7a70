#include "export/shape_facts.h"

#include "export/trial_run.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/foreign_input.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace sparsebit::exports {
namespace {

using fx::TensorInfo;
using Sizes = std::map<std::string, int64_t>;  // by symbol

TensorInfo with_symbols(TensorInfo info, const std::string& input,
                        const std::map<int64_t, std::string>& axes) {
  const auto rank = static_cast<int64_t>(info.shape.size());
  info.symbols.resize(info.shape.size());
  for (auto [axis, symbol] : axes) {
    SPARSEBIT_CHECK(axis >= -rank && axis < rank, InvalidArgument, "dynamic axes: input '", input,
                    "': expected a dimension from ", -rank, " to ", rank - 1, ", found ", axis);
    const auto i = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    info.shape[i] = -1;
    info.symbols[i] = symbol;
  }
  for (size_t i = 0; i < info.shape.size(); ++i) {
    if (info.shape[i] >= 0) info.symbols[i].clear();
    if (info.shape[i] < 0 && info.symbols[i].empty())
      info.symbols[i] = input + "_dim_" + std::to_string(i);
  }
  return info;
}

InputSpec read_input(const fx::Node& node, size_t index, const OnnxExportOptions& options) {
  const std::string foreign = fx::foreign_type(node);
  SPARSEBIT_CHECK(foreign.empty(), Unsupported, "input '", node.target(), "' (", foreign,
                  ") cannot be exported: it is not a tensor");
  InputSpec spec{&node};
  const auto axes = options.dynamic_axes.find(node.target());
  const bool given = index < options.inputs.size();
  std::optional<TensorInfo> info = node.tensor_info();
  if (given && options.inputs[index].is_tensor()) {
    const at::Tensor& example = options.inputs[index].tensor();
    // Dynamic dimensions of the model's file stay dynamic if the example has its type and rank.
    const bool keep = info && info->dtype == example.scalar_type() &&
                      info->shape.size() == static_cast<size_t>(example.dim());
    if (!keep) info = TensorInfo{example.sizes().vec(), example.scalar_type()};
    for (size_t i = 0; i < info->shape.size(); ++i) {
      if (info->shape[i] >= 0) info->shape[i] = example.size(static_cast<int64_t>(i));
    }
  } else if (given || (!info && !node.args().empty())) {
    spec.value = given ? options.inputs[index] : node.args()[0];
    SPARSEBIT_CHECK(axes == options.dynamic_axes.end(), InvalidArgument, "dynamic axes: input '",
                    node.target(), "' is not a tensor");
    return spec;
  }
  SPARSEBIT_CHECK(info, InvalidArgument, "the shape of input '", node.target(),
                  "' is not known; give example inputs");
  const std::map<int64_t, std::string> none;
  spec.tensor =
      with_symbols(*info, node.target(), axes == options.dynamic_axes.end() ? none : axes->second);
  return spec;
}

void check_axes(const OnnxExportOptions& options, const std::vector<InputSpec>& inputs) {
  for (const auto& [name, axes] : options.dynamic_axes) {
    const bool found = std::any_of(inputs.begin(), inputs.end(), [&](const InputSpec& spec) {
      return spec.node->target() == name;
    });
    SPARSEBIT_CHECK(found, InvalidArgument, "dynamic axes: the model has no input '", name, "'");
  }
  SPARSEBIT_CHECK(options.inputs.size() <= inputs.size(), InvalidArgument, "the model has ",
                  inputs.size(), " inputs, got ", options.inputs.size(), " example inputs");
}

at::Tensor make_example(const TensorInfo& info, const Sizes& sizes, int64_t number) {
  Shape shape = info.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) shape[i] = sizes.at(info.symbols[i]);
  }
  at::Generator generator = at::detail::createCPUGenerator(0);
  if (at::isFloatingType(info.dtype)) return at::rand(shape, generator).to(info.dtype);
  return at::full(shape, info.dtype == at::kBool ? 1 : number, info.dtype);
}

/// Repeats or cuts an example to the wanted sizes, which keeps its values valid.
at::Tensor fit_example(at::Tensor example, const TensorInfo& info, const Sizes& sizes) {
  for (size_t i = 0; i < info.shape.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    if (info.shape[i] >= 0) continue;
    const int64_t wanted = sizes.at(info.symbols[i]), found = example.size(dim);
    if (found == 0 || found == wanted) continue;
    std::vector<at::Tensor> copies(static_cast<size_t>((wanted + found - 1) / found), example);
    example = at::cat(copies, dim).narrow(dim, 0, wanted);
  }
  return example.contiguous();
}

std::vector<fx::Value> example_inputs(const std::vector<InputSpec>& inputs, const Sizes& sizes,
                                      const std::vector<fx::Value>& given, int64_t number) {
  std::vector<fx::Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool has = i < given.size();
    if (!inputs[i].tensor) {
      values.push_back(inputs[i].value);
    } else if (has) {
      values.emplace_back(fit_example(given[i].tensor().detach(), *inputs[i].tensor, sizes));
    } else {
      values.emplace_back(make_example(*inputs[i].tensor, sizes, number));
    }
  }
  return values;
}

/// The position of a dynamic dimension decides which sizes a model is likely to accept.
enum class Role { Batch, Length, Spatial };

std::map<std::string, Role> roles_of(const std::vector<InputSpec>& inputs) {
  std::map<std::string, Role> roles;
  for (const InputSpec& input : inputs) {
    if (!input.tensor) continue;
    for (size_t i = 0; i < input.tensor->shape.size(); ++i) {
      if (input.tensor->shape[i] >= 0) continue;
      const bool image = input.tensor->shape.size() >= 4 && i >= 2;
      const Role role = i == 0 ? Role::Batch : image ? Role::Spatial : Role::Length;
      roles.emplace(input.tensor->symbols[i], role);
    }
  }
  return roles;
}

struct SizePair {
  int64_t first, second;
};

/// Candidate sizes of the two runs. No two symbols grow by the same factor; otherwise a multiple of
/// the batch could be mistaken for the length.
std::vector<std::map<Role, SizePair>> guesses() {
  return {{{Role::Batch, {2, 3}}, {Role::Length, {8, 24}}, {Role::Spatial, {224, 288}}},
          {{Role::Batch, {2, 4}}, {Role::Length, {32, 48}}, {Role::Spatial, {64, 160}}},
          {{Role::Batch, {2, 3}}, {Role::Length, {16, 17}}, {Role::Spatial, {32, 40}}},
          {{Role::Batch, {1, 2}}, {Role::Length, {224, 336}}, {Role::Spatial, {512, 640}}},
          {{Role::Batch, {1, 2}}, {Role::Length, {3, 4}}, {Role::Spatial, {8, 10}}},
          {{Role::Batch, {1, 2}}, {Role::Length, {1, 3}}, {Role::Spatial, {2, 3}}}};
}

/// Sizes of the symbols in the given examples.
Sizes given_sizes(const std::vector<InputSpec>& inputs, const std::vector<fx::Value>& given) {
  Sizes sizes;
  for (size_t i = 0; i < std::min(inputs.size(), given.size()); ++i) {
    if (!inputs[i].tensor) continue;
    for (size_t d = 0; d < inputs[i].tensor->shape.size(); ++d) {
      if (inputs[i].tensor->shape[d] >= 0) continue;
      const int64_t size = given[i].tensor().size(static_cast<int64_t>(d));
      const auto [it, is_new] = sizes.emplace(inputs[i].tensor->symbols[d], size);
      SPARSEBIT_CHECK(it->second == size, InvalidArgument, "the example inputs have the sizes ",
                      it->second, " and ", size, " for '", it->first, "'");
    }
  }
  return sizes;
}

/// Candidate sizes of the second run when examples gave those of the first, best first: each symbol
/// grows by its own factor; all by the same, in case sizes depend on each other; or they shrink, in
/// case the examples have the largest possible sizes.
std::vector<Sizes> other_sizes(const Sizes& sizes) {
  using Change = int64_t (*)(int64_t size, int64_t index);
  std::vector<Sizes> result;
  for (const Change change : {Change([](int64_t n, int64_t i) { return n * (i + 2); }),
                              Change([](int64_t n, int64_t) { return n * 2; }),
                              Change([](int64_t n, int64_t i) { return n / (i + 2); }),
                              Change([](int64_t n, int64_t) { return n / 2; }),
                              Change([](int64_t n, int64_t) { return n * 3 / 4; })}) {
    Sizes& other = result.emplace_back();
    for (const auto& [symbol, size] : sizes) {
      const auto index = static_cast<int64_t>(other.size());
      other[symbol] = std::max<int64_t>(1, change(size, index));
    }
  }
  return result;
}

/// Pairs of sizes to try, best first.
std::vector<std::pair<Sizes, Sizes>> candidates(const std::vector<InputSpec>& inputs,
                                                const std::vector<fx::Value>& given) {
  const std::map<std::string, Role> roles = roles_of(inputs);
  const Sizes fixed = given_sizes(inputs, given);
  std::vector<std::pair<Sizes, Sizes>> pairs;
  for (const Sizes& other : other_sizes(fixed)) {
    for (const auto& guess : guesses()) {
      Sizes first = fixed, second = other;
      for (const auto& [symbol, role] : roles) {
        first.emplace(symbol, guess.at(role).first);
        second.emplace(symbol, guess.at(role).second);
      }
      pairs.emplace_back(first, second);
      if (fixed.size() == roles.size()) break;  // nothing to guess
    }
    if (fixed.empty()) break;
  }
  return pairs;
}

/// Sizes for further runs, unrelated to those of the first two: they reveal sizes that were equal
/// there by chance, such as a length that is padded to a multiple of 32 or cut at 8.
std::vector<Sizes> probe_sizes(const std::map<std::string, Role>& roles, const Sizes& given) {
  static const std::map<Role, std::array<int64_t, 3>> guesses = {
      {Role::Batch, {1, 3, 2}}, {Role::Length, {3, 45, 131}}, {Role::Spatial, {97, 352, 160}}};
  std::vector<Sizes> result(3);
  for (const auto& [symbol, role] : roles) {
    const auto it = given.find(symbol);
    const int64_t n = it == given.end() ? 0 : it->second;
    const std::array<int64_t, 3> around = {std::max<int64_t>(1, n / 4), n / 2 + 5, 2 * n + 11};
    const std::array<int64_t, 3>& sizes = it == given.end() ? guesses.at(role) : around;
    for (size_t i = 0; i < result.size(); ++i) result[i][symbol] = sizes[i];
  }
  return result;
}

/// Symbols by their sizes in the two runs. A symbol that grew by the same factor as another has no
/// entry, since a size could be a multiple of either.
using SymbolTable = std::map<std::pair<int64_t, int64_t>, std::string>;

SymbolTable symbol_table(const Sizes& first, const Sizes& second) {
  const auto growth = [&](const std::string& symbol) {
    const int64_t a = first.at(symbol), b = second.at(symbol), common = std::gcd(a, b);
    return common == 0 ? std::pair{a, b} : std::pair{a / common, b / common};
  };
  std::map<std::pair<int64_t, int64_t>, int> alike;
  for (const auto& [symbol, size] : first) ++alike[growth(symbol)];
  SymbolTable table;
  for (const auto& [symbol, size] : first) {
    if (alike[growth(symbol)] == 1) table.emplace(std::pair{size, second.at(symbol)}, symbol);
  }
  return table;
}

Fact merge(const Fact& a, const Fact& b, const SymbolTable& symbols) {
  Fact merged = a;
  if (a.tensor && b.tensor && a.tensor->shape.size() == b.tensor->shape.size()) {
    merged.tensor->symbols.assign(a.tensor->shape.size(), "");
    for (size_t i = 0; i < a.tensor->shape.size(); ++i) {
      const std::pair sizes(a.tensor->shape[i], b.tensor->shape[i]);
      if (sizes.first == sizes.second) continue;
      merged.tensor->shape[i] = -1;
      if (const auto it = symbols.find(sizes); it != symbols.end())
        merged.tensor->symbols[i] = it->second;
    }
  } else if (a.tensor) {
    merged.tensor.reset();
  }
  if (a.items.size() != b.items.size()) return {};
  for (size_t i = 0; i < a.items.size(); ++i) {
    merged.items[i] = merge(a.items[i], b.items[i], symbols);
  }
  return merged;
}

void merge_runs(ShapeFacts& facts, const TrialRun& first, const TrialRun& second,
                const SymbolTable& symbols) {
  for (const auto& [node, fact] : first.facts) {
    const auto other = second.facts.find(node);
    facts.facts[node] = other == second.facts.end() ? fact : merge(fact, other->second, symbols);
  }
  facts.aliases = first.aliases;
}

void open_dim(TensorInfo& info, size_t dim) {
  info.shape[dim] = -1;
  if (dim < info.symbols.size()) info.symbols[dim].clear();
}

/// Whether a dimension's size in a run agrees with the known size or symbol.
bool holds(const TensorInfo& known, size_t dim, int64_t found, const Sizes& sizes) {
  if (known.shape[dim] >= 0) return known.shape[dim] == found;
  const auto size = dim < known.symbols.size() ? sizes.find(known.symbols[dim]) : sizes.end();
  return size == sizes.end() || size->second == found;
}

/// Makes dimensions of `known` dynamic where `found` contradicts `expected`, which may be `known`.
void open_where_wrong(Fact& known, const Fact& expected, const Fact& found, const Sizes& sizes) {
  if (known.tensor && expected.tensor && found.tensor) {
    if (expected.tensor->shape.size() != found.tensor->shape.size()) {
      known.tensor.reset();
    } else {
      for (size_t i = 0; i < found.tensor->shape.size(); ++i) {
        if (!holds(*expected.tensor, i, found.tensor->shape[i], sizes)) open_dim(*known.tensor, i);
      }
    }
  }
  const size_t items = std::min({known.items.size(), expected.items.size(), found.items.size()});
  for (size_t i = 0; i < items; ++i)
    open_where_wrong(known.items[i], expected.items[i], found.items[i], sizes);
}

/// Makes dimensions dynamic that a further run, with other sizes, contradicts.
void check_against(const TrialRun& run, const Sizes& sizes, ShapeFacts& facts) {
  for (const auto& [node, fact] : run.facts) {
    const auto known = facts.facts.find(node);
    if (known != facts.facts.end()) open_where_wrong(known->second, known->second, fact, sizes);
  }
}

/// Makes dimensions dynamic that changed when only data-dependent sizes were changed.
void merge_varied(ShapeFacts& facts, const TrialRun& first, const TrialRun& varied) {
  for (const auto& [node, fact] : varied.facts) {
    const auto merged = facts.facts.find(node);
    const auto before = first.facts.find(node);
    if (merged != facts.facts.end() && before != first.facts.end())
      open_where_wrong(merged->second, before->second, fact, {});
  }
}

/// Whether made-up numbers are used for an integer input, because there are no examples.
bool has_numbers_made_up(const std::vector<InputSpec>& inputs, const OnnxExportOptions& options) {
  return options.inputs.empty() &&
         std::any_of(inputs.begin(), inputs.end(), [](const InputSpec& input) {
           return input.tensor && at::isIntegralType(input.tensor->dtype, /*includeBool=*/false);
         });
}

/// Finds the facts of a model with one pair of sizes; throws when the model does not accept them.
/// @param number  fills integer inputs: most models accept 0, some divide by it.
void learn(const fx::GraphModule& module, const OnnxExportOptions& options, const Sizes& a,
           const Sizes& b, int64_t number, ShapeFacts& result) {
  const auto run = [&](const Sizes& sizes, const TrialRun* other_than = nullptr) {
    return run_trial(module, example_inputs(result.inputs, sizes, options.inputs, number), sizes,
                     other_than);
  };
  const TrialRun first = run(a);
  merge_runs(result, first, a.empty() ? first : run(b), symbol_table(a, b));
  if (first.sizes_depend_on_data) merge_varied(result, first, run(a, &first));
  const Sizes given = given_sizes(result.inputs, options.inputs);
  for (const Sizes& sizes : probe_sizes(roles_of(result.inputs), given)) {
    if (sizes.empty()) break;
    try {
      check_against(run(sizes), sizes, result);
    } catch (const Error&) {
      continue;  // the model may not accept these sizes
    }
  }
}

}  // namespace

const Fact* ShapeFacts::find(const fx::Node& node) const {
  const auto it = facts.find(&node);
  return it == facts.end() ? nullptr : &it->second;
}

ShapeFacts find_shapes(const fx::GraphModule& module, const OnnxExportOptions& options) {
  ShapeFacts result;
  for (const fx::Node* node : module.graph().placeholders())
    result.inputs.push_back(read_input(*node, result.inputs.size(), options));
  check_axes(options, result.inputs);
  std::optional<Error> first_error;
  for (const int64_t number : {0, 1}) {
    for (const auto& [a, b] : candidates(result.inputs, options.inputs)) {
      try {
        learn(module, options, a, b, number, result);
        return result;
      } catch (const Error& e) {
        if (!first_error) first_error = e;
        if (a.empty()) break;  // nothing to vary
      }
    }
    if (!has_numbers_made_up(result.inputs, options)) break;
  }
  first_error->add_context(has_numbers_made_up(result.inputs, options)
                               ? "while running the model on made-up inputs to infer its shapes; "
                                 "give example inputs (--input)"
                               : "while running the model to infer its shapes");
  throw *first_error;
}

}  // namespace sparsebit::exports
