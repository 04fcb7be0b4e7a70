// Writes docs/reference/operators.md: every operator, its arguments and spellings.

#include "sparsebit/fx/ops/operator.h"

#include <iostream>

namespace {

using sparsebit::fx::Form;
using sparsebit::fx::ModuleForm;
using sparsebit::fx::Operator;

std::string escape(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string spellings(const Operator& op) {
  std::string text;
  const auto add = [&text](const std::string& name) {
    text += (text.empty() ? "`" : ", `") + name + "`";
  };
  for (const ModuleForm& module : op.modules) add(module.type);
  for (const Form& form : op.forms) add(form.spelling);
  for (const Form& form : op.inplace) add(form.spelling);
  return text;
}

}  // namespace

int main() {
  const auto all = sparsebit::fx::operators().all();
  std::cout
      << "# Operators\n\n"
      << "Written by `make docs`; do not edit.\n\n"
      << all.size() << " operators in " << sparsebit::fx::operators().spellings().size()
      << " spellings. Each spelling takes torch's own arguments; the table shows the canonical\n"
      << "argument names, which calls have after import (see\n"
      << "[operators](../concepts/operators.md)).\n\n"
      << "| operator | arguments | spellings |\n|---|---|---|\n";
  for (const Operator* op : all) {
    std::cout << "| `" << op->name << "` | `" << escape(op->schema.to_string()) << "` | "
              << spellings(*op) << " |\n";
  }
}
