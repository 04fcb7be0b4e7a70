#include "fx/ops/op_case.h"
#include "fx/ops/tested_spellings.h"
#include "support/operator_facts.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/ops/operator.h"
#include "sparsebit/fx/ops/value_text.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::test {
namespace {

at::Generator& generator() {
  static at::Generator g = at::detail::createCPUGenerator(2024);
  return g;
}

struct Call {
  std::string spelling;
  std::vector<Value> args;
  Kwargs kwargs;
};

/// Reads `torch.add(%a, 2, alpha=3)` or `%a.add(2)`.
Call read_call(const std::string& text, const Tensors& inputs) {
  ValueReader reader(text, text, [&](std::string_view name) -> std::optional<Value> {
    return inputs.at(static_cast<size_t>(name.at(0) - 'a'));
  });
  Call call;
  if (reader.try_consume("%")) {
    const std::string name(reader.read_name());  // "a.add"
    call.args.emplace_back(inputs.at(static_cast<size_t>(name.at(0) - 'a')));
    call.spelling = "Tensor" + name.substr(1);
  } else {
    call.spelling = reader.read_name();
  }
  reader.expect("(");
  while (!reader.try_consume(")")) {
    const std::string_view rest = reader.rest();
    const size_t name_end =
        rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789 ");
    const bool keyword =
        name_end != std::string_view::npos && name_end > 0 && rest[name_end] == '=';
    if (keyword) {
      std::string name(reader.read_name());
      reader.expect("=");
      call.kwargs.emplace_back(std::move(name), reader.read_value());
    } else {
      call.args.push_back(reader.read_value());
    }
    reader.try_consume(",");
  }
  return call;
}

void flatten_into(const Value& value, Tensors& out) {
  if (value.is_tensor()) {
    out.push_back(value.tensor());
  } else if (value.is_sequence()) {
    for (const Value& item : value.items()) flatten_into(item, out);
  } else if (value.is_number()) {
    out.push_back(at::scalar_tensor(value.to_scalar()));
  }
}

}  // namespace

std::set<std::string>& tested_spellings() {
  static std::set<std::string> spellings;
  return spellings;
}

at::Tensor normal(std::vector<int64_t> shape) { return at::randn(shape, generator()); }
at::Tensor positive(std::vector<int64_t> shape) { return at::rand(shape, generator()) * 1.5 + 0.5; }
at::Tensor integers(std::vector<int64_t> shape, int64_t low, int64_t high) {
  return at::randint(low, high, shape, generator(), at::kLong);
}
at::Tensor booleans(std::vector<int64_t> shape) { return at::rand(shape, generator()) > 0.5; }

Tensors flatten(const Value& value) {
  Tensors out;
  flatten_into(value, out);
  return out;
}

Value evaluate(const std::string& text, const Tensors& inputs) {
  const Call call = read_call(text, inputs);
  const Spelling& spelling = operators().get(call.spelling);
  const Args args = bind_call(spelling, call.args, call.kwargs);
  Value result = run_kernel(*spelling.op, args);
  EXPECT_EQ(broken_fact(*spelling.op, args, result), "");
  // Only after success: a test of an error text does not count.
  tested_spellings().insert(call.spelling);
  return result;
}

void expect_plain_results(const std::vector<PlainCase>& cases) {
  for (const PlainCase& c : cases) {
    SCOPED_TRACE(c.call);
    try {
      EXPECT_EQ(describe(evaluate(c.call, c.inputs)), c.result);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

std::string error_of(const std::string& call, const Tensors& inputs) {
  try {
    evaluate(call, inputs);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace sparsebit::fx::test
