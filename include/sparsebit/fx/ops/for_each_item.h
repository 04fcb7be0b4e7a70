#pragma once

#include "sparsebit/fx/ops/value.h"

namespace sparsebit::fx {

/// Calls `visit` for what Value::map_items() replaces: every item that is not a list, tuple, dict
/// or slice, in order. Copies nothing.
template <class Visit>
void for_each_item(const Value& value, const Visit& visit) {
  if (value.is_sequence()) {
    for (const Value& item : value.items()) for_each_item(item, visit);
  } else if (value.is<Dict>()) {
    for (const auto& [key, item] : value.get<Dict>().items) for_each_item(item, visit);
  } else if (value.is<Slice>()) {
    for (const Value& bound : value.get<Slice>().bounds) for_each_item(bound, visit);
  } else {
    visit(value);
  }
}

}  // namespace sparsebit::fx
