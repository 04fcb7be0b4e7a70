#include "sparsebit/passes/pass.h"

#include "passes/all_passes.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"

#include <algorithm>

namespace sparsebit::passes {

void check_pass(const Pass& pass) {
  SPARSEBIT_CHECK(!pass.name.empty(), InvalidArgument, "a pass needs a name");
  SPARSEBIT_CHECK(pass.rules.empty() == static_cast<bool>(pass.run), InvalidArgument, "pass '",
                  pass.name, "' needs either rules or run");
}

void PassRegistry::add(Pass pass, const std::string& before) {
  const std::vector<std::string> known = names();
  SPARSEBIT_CHECK(std::find(known.begin(), known.end(), pass.name) == known.end(), InvalidArgument,
                  "pass '", pass.name, "' is registered twice");
  check_pass(pass);
  auto position = passes_.end();
  if (!before.empty()) {
    get(before);  // throws with similar names
    position = std::find_if(passes_.begin(), passes_.end(),
                            [&](const Pass& other) { return other.name == before; });
  }
  passes_.insert(position, std::move(pass));
}

const Pass& PassRegistry::get(const std::string& name) const {
  const auto it = std::find_if(passes_.begin(), passes_.end(),
                               [&](const Pass& pass) { return pass.name == name; });
  SPARSEBIT_CHECK(it != passes_.end(), InvalidArgument, "unknown pass '", name, "'",
                  did_you_mean(name, names()));
  return *it;
}

std::vector<std::string> PassRegistry::names() const {
  std::vector<std::string> names;
  for (const Pass& pass : passes_) names.push_back(pass.name);
  return names;
}

std::vector<std::string> PassRegistry::names(Stage stage) const {
  std::vector<std::string> names;
  for (const Pass& pass : passes_) {
    if (pass.stage == stage) names.push_back(pass.name);
  }
  return names;
}

/// In the order in which they run: passes that prepare the graph for others come first.
PassRegistry& passes() {
  static PassRegistry registry = [] {
    PassRegistry r;
    r.add(out_of_place());
    r.add(remove_identity());
    r.add(getattr_to_shape());
    r.add(unbind_getitem_to_subtensor());
    r.add(fold_constants());
    r.add(remove_no_ops());
    r.add(merge_duplicates());
    r.add(recognize_layer_norm());
    r.add(recognize_relu());
    r.add(recognize_gelu());
    r.add(recognize_silu());
    r.add(recognize_hardswish());
    r.add(recognize_attention());
    r.add(merge_transposes());
    r.add(merge_reshapes());
    r.add(matmul_to_linear());
    r.add(functions_to_layers());
    r.add(merge_pads());
    r.add(fuse_bn());
    r.add(fuse_scale());
    r.add(fuse_bn_before());
    r.add(equalize_layers());
    return r;
  }();
  return registry;
}

}  // namespace sparsebit::passes
