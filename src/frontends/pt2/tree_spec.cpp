#include "frontends/pt2/tree_spec.h"

#include "frontends/pt2/json_value.h"
#include "sparsebit/core/error.h"

#include <nlohmann/json.hpp>

#include <set>

namespace sparsebit::frontends::pt2 {
namespace {

using nlohmann::json;

constexpr int kDeepest = 64;

/// Names of fields from a JSON text; empty when it is not a list of names.
std::vector<std::string> field_names(const json& context) {
  const json list = context.is_string() ? json::parse(context.get<std::string>(), nullptr,
                                                      /*allow_exceptions=*/false)
                                        : context;
  std::vector<std::string> names;
  if (!list.is_array()) return {};
  for (const json& item : list) {
    if (!item.is_string()) return {};
    names.push_back(item.get<std::string>());
  }
  return names;
}

TreeSpec parse(const json& value, int depth) {
  SPARSEBIT_CHECK(depth < kDeepest && value.is_object() && value.contains("type") &&
                      value.contains("context") && value.contains("children_spec") &&
                      value["children_spec"].is_array(),
                  InvalidModel, "its description of inputs or outputs is damaged");
  TreeSpec spec;
  if (value["type"].is_null()) return spec;
  for (const json& child : value["children_spec"]) spec.children.push_back(parse(child, depth + 1));
  const std::string type = value["type"].is_string() ? value["type"].get<std::string>() : "";
  spec.kind = type == "builtins.list" ? TreeSpec::Kind::List : TreeSpec::Kind::Tuple;
  const std::vector<std::string> names = field_names(value["context"]);
  if (!names.empty() && names.size() == spec.children.size()) {
    spec.kind = TreeSpec::Kind::Dict;
    spec.keys = names;
  }
  return spec;
}

fx::Value take(const TreeSpec& spec, std::span<const fx::Value>& leaves) {
  if (spec.kind == TreeSpec::Kind::Leaf) {
    const fx::Value leaf = leaves.front();
    leaves = leaves.subspan(1);
    return leaf;
  }
  std::vector<fx::Value> items;
  for (const TreeSpec& child : spec.children) items.push_back(take(child, leaves));
  if (spec.kind == TreeSpec::Kind::List) return fx::List(std::move(items));
  if (spec.kind == TreeSpec::Kind::Tuple) return fx::Tuple(std::move(items));
  fx::Dict dict;
  for (size_t i = 0; i < items.size(); ++i) dict.items.emplace_back(spec.keys[i], items[i]);
  return dict;
}

class LeafNames {
 public:
  explicit LeafNames(std::span<const fx::Value> leaves) : leaves_(leaves) {}

  void add(const TreeSpec& spec, const std::string& prefix) {
    if (spec.kind == TreeSpec::Kind::Leaf) {
      if (!leaves_[next_++].is_none()) add_name(prefix.empty() ? "output" : prefix);
      return;
    }
    for (size_t i = 0; i < spec.children.size(); ++i) {
      const bool keyed = spec.kind == TreeSpec::Kind::Dict;
      std::string name = keyed ? spec.keys[i] : std::to_string(i);
      if (!prefix.empty())
        name = prefix + "." + name;
      else if (!keyed)
        name = "output_" + name;
      add(spec.children[i], name);
    }
  }

  std::vector<std::string> take() { return std::move(names_); }

 private:
  void add_name(std::string name) {
    const std::string base = name;
    for (int i = 1; !taken_.insert(name).second; ++i) name = c10::str(base, "_", i);
    names_.push_back(std::move(name));
  }

  std::span<const fx::Value> leaves_;
  size_t next_ = 0;
  std::set<std::string> taken_;
  std::vector<std::string> names_;
};

}  // namespace

size_t TreeSpec::leaves() const {
  if (kind == Kind::Leaf) return 1;
  size_t count = 0;
  for (const TreeSpec& child : children) count += child.leaves();
  return count;
}

TreeSpec parse_tree_spec(const std::string& text) {
  const json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  SPARSEBIT_CHECK(value.is_array() && value.size() == 2, InvalidModel,
                  "its description of inputs or outputs is damaged");
  return parse(value[1], 0);
}

fx::Value unflatten(const TreeSpec& spec, std::span<const fx::Value> leaves) {
  return take(spec, leaves);
}

std::vector<std::string> leaf_names(const TreeSpec& spec, std::span<const fx::Value> leaves) {
  LeafNames names(leaves);
  names.add(spec, "");
  return names.take();
}

}  // namespace sparsebit::frontends::pt2
