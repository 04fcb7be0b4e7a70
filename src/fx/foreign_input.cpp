#include "sparsebit/fx/foreign_input.h"

namespace sparsebit::fx {
namespace {

constexpr const char* kType = "_type";

}  // namespace

void set_foreign_type(Node& placeholder, std::string type) {
  placeholder.set_kwargs({{kType, std::move(type)}});
}

std::string foreign_type(const Node& placeholder) {
  const Value* type = placeholder.kwarg(kType);
  return type && type->is_string() ? type->get<std::string>() : "";
}

}  // namespace sparsebit::fx
