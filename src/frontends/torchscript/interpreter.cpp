#include "frontends/torchscript/interpreter.h"

#include "frontends/torchscript/archive.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;
namespace jit = torch::jit;

constexpr int kDeepestCall = 400;             // deeper calls are treated as infinite recursion
constexpr int kDeepestBlock = 2000;           // bodies of functions, ifs and loops
constexpr int64_t kMostIterations = 1 << 16;  // of a loop that is unrolled

/// Whether the block always ends in an exception.
bool only_raises(const jit::Block& block) {
  return std::any_of(block.nodes().begin(), block.nodes().end(), [](const jit::Node* node) {
    if (node->kind() == c10::prim::RaiseException) return true;
    return node->kind() == c10::prim::If && only_raises(*node->blocks()[0]) &&
           only_raises(*node->blocks()[1]);
  });
}

/// "model.py:12"; empty when the file does not state it.
std::string source_line(const jit::Node& node) {
  const jit::SourceRange range = node.sourceRange();
  const auto original = range.findSourceRangeThatGenerated();
  const auto place = (original ? *original : range).file_line_col();
  if (!place) return {};
  return c10::str(std::get<0>(*place), ":", std::get<1>(*place));
}

std::string one_line(const Error& error) {
  std::string text = error.details().what;
  for (const std::string& frame : error.context()) text += "; " + frame;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// Upper estimate of the characters that a string function may produce: the lengths of all strings,
/// and numbers that may be lengths or counts.
int64_t text_cost(const ScriptValues& in) {
  int64_t characters = 0, largest = 0;
  bool has_text = false;
  for (const ScriptValue& datum : in) {
    if (const ScriptValues* items = datum.items()) {
      const int64_t inside = text_cost(*items);
      has_text |= inside > 0;
      characters += inside + static_cast<int64_t>(items->size());
    } else if (datum.is_value() && datum.value().is_string()) {
      has_text = true;
      characters += 1 + static_cast<int64_t>(datum.value().string().size());
    } else if (datum.is_value() && datum.value().is_int()) {
      largest = std::max(largest, datum.value().to_int());
    }
  }
  constexpr int64_t kPlenty = int64_t{1} << 40;  // sums of such numbers do not overflow
  return has_text ? characters + std::min(largest, kPlenty) : 0;
}

/// Limits string functions that make long strings of short ones: ljust, replace, join.
void check_text(const ScriptValues& in) {
  constexpr int64_t kMost = 1 << 13;
  SPARSEBIT_CHECK(text_cost(in) <= kMost, Unsupported, "a computed string may have more than ",
                  kMost, " characters");
}

/// Advice for a model that cannot be turned into a graph.
///
/// @param path  of the module that causes the error; empty for the model itself.
std::string advice_for(const std::string& path, bool shapes_would_help) {
  std::string text =
      shapes_would_help ? "; give the input shapes (--shape NAME=1x3x224x224), " : "; ";
  if (path.empty()) return text + (shapes_would_help ? "or " : "") + "trace the model instead";
  return text +
         "trace the model instead, or keep that module as one opaque node when you inspect or run "
         "it (--skip '" +
         path + "')";
}

}  // namespace

ScriptValue Interpreter::run_function(jit::Function& function, ScriptValues args,
                                      const std::string* owner) {
  SPARSEBIT_CHECK(depth_ < kDeepestCall, Unsupported, "function calls are nested ", kDeepestCall,
                  " deep");
  SPARSEBIT_CHECK(function.isGraphFunction(), Unsupported, "function '", function.name(),
                  "' has no code");
  const std::shared_ptr<jit::Graph> graph = jit::toGraphFunction(function).graph();
  SPARSEBIT_CHECK(args.size() == graph->inputs().size(), InvalidModel, "'", function.name(),
                  "' takes ", graph->inputs().size(), " arguments, got ", args.size());
  Env env;
  for (size_t i = 0; i < args.size(); ++i) env[graph->inputs()[i]] = std::move(args[i]);
  std::string outer = builder_.scope;
  if (owner) builder_.scope = *owner;
  ++depth_;
  ScriptValues results = run_block(*graph->block(), env);
  --depth_;
  builder_.scope = std::move(outer);
  return results.size() == 1 ? results[0] : ScriptValue::tuple(std::move(results));
}

ScriptValues Interpreter::run_block(jit::Block& block, Env& env) {
  SPARSEBIT_CHECK(block_depth_ < kDeepestBlock, Unsupported, "ifs and loops are nested ",
                  kDeepestBlock, " deep");
  ++block_depth_;
  for (jit::Node* node : block.nodes()) {
    try {
      run_node(*node, env);
    } catch (const Error& e) {
      rethrow_located(*node, e);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {  // of libtorch
      rethrow_located(*node, Error(ErrorKind::InvalidModel, first_line(e)));
    }
  }
  --block_depth_;
  ScriptValues results;
  for (const jit::Value* value : block.outputs()) results.push_back(env[value]);
  return results;
}

/// Adds the module and source line to an error, once: those of the innermost node.
void Interpreter::rethrow_located(const jit::Node& node, const Error& error) {
  if (std::exchange(error_located_, true)) throw error;
  const std::string& path = builder_.scope;
  std::string place = path.empty() ? "the model itself" : "module '" + path + "'";
  const std::string line = source_line(node);
  if (!line.empty()) place += " (" + line + ")";
  const bool open = error.kind() == ErrorKind::DataDependent;
  const std::string advice = open ? advice_for(path, shapes_would_help_) : "";
  throw Error(error.kind(), place + ": " + one_line(error) + advice);
}

void Interpreter::run_node(jit::Node& node, Env& env) {
  builder_.budget().spend(1);
  if (node.kind() == c10::prim::If) return run_if(node, env);
  if (node.kind() == c10::prim::Loop) return run_loop(node, env);
  ScriptValues in;
  for (const jit::Value* input : node.inputs()) {
    in.push_back(env[input]);
    builder_.budget().spend_on(in.back());
  }
  ScriptValues out;
  if (node.kind() == c10::prim::CallMethod) {
    out = {call_method(node, in)};
  } else if (node.kind() == c10::prim::CallFunction) {
    out = {call_function(std::move(in))};
  } else if (auto done = run_builtin(node, in)) {
    out = std::move(*done);
  } else {
    out = write_operator(builder_, node, in);
  }
  SPARSEBIT_CHECK(out.size() == node.outputs().size(), Internal, node.kind().toQualString(),
                  " gave ", out.size(), " results instead of ", node.outputs().size());
  for (size_t i = 0; i < out.size(); ++i) {
    // A list that an operator only modified has already been charged as its input.
    const bool same = out[i].is<ListRef>() && !in.empty() && in[0].is<ListRef>() &&
                      in[0].get<ListRef>().items == out[i].get<ListRef>().items;
    if (!same) builder_.budget().spend_on(out[i]);
    env[node.outputs()[i]] = std::move(out[i]);
  }
}

std::optional<ScriptValues> Interpreter::run_builtin(jit::Node& node, const ScriptValues& in) {
  if (is_foreign(node)) return std::nullopt;
  if (auto answer = answer_question(*this, node, in)) return answer;
  if (auto done = run_prim(*this, node, in)) return done;
  if (auto done = run_container(*this, node, in)) return done;
  return evaluate(node, in);
}

/// Lets libtorch evaluate a node with known inputs. Nodes that create tensors stay in the graph: a
/// new tensor per run is not the same as one that all runs share.
std::optional<ScriptValues> Interpreter::evaluate(jit::Node& node, const ScriptValues& given) {
  const ScriptValues in = on_cpu(node, given);
  const bool known =
      std::all_of(in.begin(), in.end(), [](const ScriptValue& d) { return d.is_known(); });
  if (!known || node.outputs().empty() || !node.maybeSchema()) return std::nullopt;
  for (const jit::Value* output : node.outputs()) {
    if (output->type()->isSubtypeOf(*c10::TensorType::get())) return std::nullopt;
    if (output->type()->kind() == c10::TypeKind::ListType &&
        output->type()->containedType(0)->isSubtypeOf(*c10::TensorType::get()))
      return std::nullopt;
  }
  static const std::vector<std::string> about_form = {
      "dim",       "size",    "numel",  "is_floating_point", "dtype", "device",
      "len",       "is_cuda", "layout", "requires_grad",     "shape", "ndim",
      "is_complex"};
  const std::string name = node.kind().toUnqualString();
  const bool form_only = std::find(about_form.begin(), about_form.end(), name) != about_form.end();
  jit::Stack stack;
  for (size_t i = 0; i < in.size(); ++i) {
    const bool parameter = in[i].is_tensor() && source_.owns(in[i].value().tensor());
    if (parameter && !form_only) return std::nullopt;
    stack.push_back(to_ivalue(in[i], node.inputs()[i]->type()));
  }
  check_text(in);
  if (node.schema().is_vararg()) stack.push_back(static_cast<int64_t>(in.size()));
  node.getOperation()(stack);
  ScriptValues out;
  for (const c10::IValue& value : stack) out.push_back(from_ivalue(value));
  return out;
}

std::optional<bool> Interpreter::known_condition(const ScriptValue& datum) const {
  if (!datum.is_known() || !datum.is_value()) return std::nullopt;
  const Value& value = datum.value();
  if (value.is_tensor() && source_.owns(value.tensor())) return std::nullopt;
  return value.to_bool();
}

ScriptValue Interpreter::settled(const ScriptValue& datum) {
  if (!sizes || !datum.is_node()) return datum;
  const std::optional<Value> value = sizes->value_of(datum.value().node());
  if (!value) return datum;
  ++size_decisions;
  return *value;
}

std::optional<ScriptValues> Interpreter::items_by_sizes(const ScriptValue& datum) {
  const auto length = sizes ? sizes->length_of(datum.value().node()) : std::nullopt;
  if (!length) return std::nullopt;
  ++size_decisions;
  ScriptValues items;
  for (int64_t i = 0; i < *length; ++i) items.push_back(builder_.getitem(datum.value(), i));
  return items;
}

void Interpreter::fail_unknown(const ScriptValue& datum, const char* what) {
  const bool by_sizes = datum.is_node() && looks_decided_by_sizes(datum.value().node());
  const bool given = sizes && sizes->has_shapes();
  shapes_would_help_ = by_sizes && !given;
  const char* const reason = !by_sizes ? " depends on data, which is known only when the model runs"
                             : given ? " depends on sizes that do not follow from the given shapes"
                                     : " depends on the sizes of the inputs";
  throw Error(ErrorKind::DataDependent, c10::str(what, reason));
}

bool Interpreter::condition(const ScriptValue& datum, const char* what) {
  if (const auto known = known_condition(settled(datum))) return *known;
  if (datum.is_node()) {
    const auto found =
        std::find(fixable_inputs.begin(), fixable_inputs.end(), &datum.value().node());
    if (found != fixable_inputs.end()) throw InputDecides{(*found)->target()};
  }
  fail_unknown(datum, what);
}

void Interpreter::run_if(jit::Node& node, Env& env) {
  const ScriptValue& decision = env[node.inputs()[0]];
  jit::Block* yes = node.blocks()[0];
  jit::Block* no = node.blocks()[1];
  jit::Block* taken = nullptr;
  // A branch that only raises is a check of the data: for valid data, the other branch is taken.
  if (!known_condition(decision) && only_raises(*yes) != only_raises(*no))
    taken = only_raises(*yes) ? no : yes;
  else
    taken = condition(decision, "an if") ? yes : no;
  ScriptValues out = run_block(*taken, env);
  for (size_t i = 0; i < out.size(); ++i) env[node.outputs()[i]] = std::move(out[i]);
}

void Interpreter::run_loop(jit::Node& node, Env& env) {
  const ScriptValue count = settled(env[node.inputs()[0]]);
  if (!count.is_known() || !count.is_value())
    fail_unknown(count, "the number of iterations of a loop");
  const int64_t most = count.value().to_int();
  bool more = condition(env[node.inputs()[1]], "a loop");
  jit::Block& body = *node.blocks()[0];
  ScriptValues carried;
  for (size_t i = 2; i < node.inputs().size(); ++i) carried.push_back(env[node.inputs()[i]]);
  for (int64_t turn = 0; more && turn < most; ++turn) {
    SPARSEBIT_CHECK(turn < kMostIterations, Unsupported, "a loop runs more than ", kMostIterations,
                    " times");
    env[body.inputs()[0]] = Value(turn);
    for (size_t i = 0; i < carried.size(); ++i) env[body.inputs()[i + 1]] = carried[i];
    ScriptValues out = run_block(body, env);
    more = condition(out[0], "a loop");
    carried.assign(out.begin() + 1, out.end());
  }
  for (size_t i = 0; i < carried.size(); ++i) env[node.outputs()[i]] = carried[i];
}

ScriptValue Interpreter::call_method(jit::Node& node, const ScriptValues& in) {
  const std::string& name = node.s(c10::attr::name);
  SPARSEBIT_CHECK(!in.empty() && in[0].is<ObjectRef>(), Unsupported, "method '", name,
                  "' is called on a value that is known only when the model runs");
  const ObjectPtr object = in[0].get<ObjectRef>().object;
  jit::Function* function = object->type()->findMethod(name);
  SPARSEBIT_CHECK(function, InvalidModel, "class ", plain_name(object->name()), " has no method '",
                  name, "'");
  const std::string* path = source_.path_of(object);
  if (path) {
    const ScriptValues args(in.begin() + 1, in.end());
    if (auto result = calls_.call_leaf(*this, jit::Module(object), *path, name, args))
      return *result;
  }
  return run_function(*function, in, path);
}

ScriptValue Interpreter::call_function(ScriptValues in) {
  SPARSEBIT_CHECK(!in.empty() && in[0].is<jit::Function*>(), Unsupported,
                  "a function is called that is known only when the model runs");
  jit::Function* function = in[0].get<jit::Function*>();
  in.erase(in.begin());
  if (auto result = write_function(builder_, *function, in)) return *result;
  return run_function(*function, std::move(in));
}

}  // namespace sparsebit::frontends::torchscript
