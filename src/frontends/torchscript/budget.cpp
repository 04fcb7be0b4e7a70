#include "frontends/torchscript/budget.h"

#include "sparsebit/core/error.h"

namespace sparsebit::frontends::torchscript {
namespace {

/// Number of items in a collection, counting nested ones, up to `most`: a list may contain another
/// one many times, on every level.
int64_t count_items(const ScriptValue& datum, int64_t most) {
  int64_t count = 1;
  if (const ScriptValues* items = datum.items()) {
    for (const ScriptValue& item : *items) {
      if (count >= most) break;
      count += count_items(item, most - count);
    }
  } else if (datum.is<DictRef>()) {
    for (const auto& [key, item] : *datum.get<DictRef>().items) {
      if (count >= most) break;
      count += count_items(item, most - count);
    }
  }
  return count;
}

}  // namespace

void Budget::spend(int64_t steps) {
  left_ -= steps;
  SPARSEBIT_CHECK(left_ >= 0, Unsupported,
                  "the model's code needs too many operations to unroll: shorten loops or trace "
                  "the model");
}

void Budget::spend_on(const ScriptValue& datum) {
  constexpr int64_t kItemsPerStep = 4;
  const int64_t most = (left_ + 1) * kItemsPerStep;
  spend(count_items(datum, most) / kItemsPerStep);
}

}  // namespace sparsebit::frontends::torchscript
