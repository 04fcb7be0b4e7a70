#include "sparsebit/fx/ops/operator.h"

#include "fx/ops/half_precision.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/fx/ops/result_size.h"
#include "sparsebit/fx/ops/work_limit.h"

#include <algorithm>

namespace sparsebit::fx {
namespace {

constexpr const char* kInplace = "inplace";

bool is_ignored(const Parameter& parameter) { return parameter.name.starts_with('_'); }

void check_names(const Operator& op, const std::string& spelling, const Schema& arguments) {
  for (const Parameter& p : arguments.parameters()) {
    SPARSEBIT_CHECK(is_ignored(p) || op.schema.find(p.name), InvalidArgument, "operator '", op.name,
                    "': '", spelling, "' has an argument '", p.name,
                    "' that the operator does not have");
  }
}

void check_preset(const Operator& op, const std::string& spelling, const Kwargs& preset) {
  for (const auto& [name, value] : preset) {
    SPARSEBIT_CHECK(op.schema.find(name), InvalidArgument, "operator '", op.name, "': '", spelling,
                    "' presets '", name, "', which the operator does not have");
  }
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_module(const Operator& op, const ModuleForm& module) {
  check_names(op, module.type, module.forward);
  check_preset(op, module.type, module.preset);
  for (const Parameter& p : module.constructor.parameters()) {
    SPARSEBIT_CHECK(op.schema.find(p.name) || contains(module.descriptive, p.name), InvalidArgument,
                    "operator '", op.name, "': attribute '", p.name, "' of ", module.type,
                    " is not an argument of the operator, so it would be ignored; add it to the "
                    "schema or to `descriptive`");
  }
}

std::string describe_arguments(const Args& args) {
  std::string text;
  for (size_t i = 0; i < args.values().size(); ++i) {
    const Value& value = args.values()[i];
    const bool worth_telling = value.is_tensor() || value.is_sequence();
    if (!worth_telling) continue;
    if (!text.empty()) text += ", ";
    text += args.schema().parameters()[i].name + "=" + describe(value);
  }
  return text;
}

}  // namespace

const Operator& OperatorTable::add(Operator op) {
  check(op);
  const std::string name = op.name;
  const Operator& stored = *operators_.add(name, std::make_unique<Operator>(std::move(op)));
  for (const Form& form : stored.forms) spellings_.add(form.spelling, {&stored, &form, nullptr});
  for (const Form& form : stored.inplace) {
    spellings_.add(form.spelling, {&stored, &form, nullptr, /*inplace=*/true});
  }
  for (const ModuleForm& module : stored.modules) {
    spellings_.add(module.type, {&stored, nullptr, &module});
  }
  return stored;
}

/// Validates an entry before any part of it is stored.
void OperatorTable::check(const Operator& op) const {
  SPARSEBIT_CHECK(op.kernel, InvalidArgument, "operator '", op.name, "' has no kernel");
  SPARSEBIT_CHECK(op.inplace.empty() || op.schema.find(kInplace), InvalidArgument, "operator '",
                  op.name, "': '", op.inplace[0].spelling,
                  "' is an in-place form, so the operator needs an argument '", kInplace, "'");
  std::vector<std::string> spellings;
  for (const std::vector<Form>* forms : {&op.forms, &op.inplace}) {
    for (const Form& form : *forms) {
      check_names(op, form.spelling, form.arguments);
      check_preset(op, form.spelling, form.preset);
      spellings.push_back(form.spelling);
    }
  }
  for (const ModuleForm& module : op.modules) {
    check_module(op, module);
    spellings.push_back(module.type);
  }
  for (const std::string& spelling : spellings) {
    const bool twice = std::count(spellings.begin(), spellings.end(), spelling) > 1;
    SPARSEBIT_CHECK(!twice && !spellings_.contains(spelling), InvalidArgument, "operator '",
                    spelling, "' is registered twice");
  }
}

const Operator* OperatorTable::find_operator(std::string_view name) const {
  const auto* entry = operators_.find(name);
  return entry ? entry->get() : nullptr;
}

std::vector<const Operator*> OperatorTable::all() const {
  std::vector<const Operator*> result;
  for (const std::string& name : operators_.names()) result.push_back(find_operator(name));
  return result;
}

Args bind_call(const Spelling& spelling, std::span<const Value> args, const Kwargs& kwargs) {
  const Operator& op = *spelling.op;
  SPARSEBIT_CHECK(spelling.form, Internal, "operator '", op.name, "' is called as a module here");
  const Form& form = *spelling.form;
  Kwargs named = form.preset;
  if (spelling.inplace) named.emplace_back(kInplace, true);
  const auto bind = [&] {
    if (form.arguments.empty()) {
      named.insert(named.end(), kwargs.begin(), kwargs.end());
      return Args(op.schema, op.schema.bind(args, named));
    }
    std::vector<Value> given = form.arguments.bind(args, kwargs);
    for (size_t i = 0; i < given.size(); ++i) {
      const Parameter& p = form.arguments.parameters()[i];
      if (!is_ignored(p)) named.emplace_back(p.name, std::move(given[i]));
    }
    return Args(op.schema, op.schema.bind({}, named));
  };
  return with_context(bind, [&] { return "in a call of " + form.spelling; });
}

Value run_kernel(const Operator& op, const Args& args) {
  const auto compute = [&] {
    try {
      return op.kernel(args);
    } catch (const std::exception& e) {
      if (!misses_float16(e)) throw;
    }
    return run_in_float32(op.kernel, args);
  };
  const auto run = [&] {
    check_work(op, args);
    Value result = compute();
    check_result_size(result);
    return result;
  };
  return with_context(run, [&] {
    const std::string arguments = describe_arguments(args);
    return "in operator '" + op.name + "'" + (arguments.empty() ? "" : " with " + arguments);
  });
}

}  // namespace sparsebit::fx
