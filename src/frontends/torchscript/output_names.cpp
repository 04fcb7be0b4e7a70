#include "frontends/torchscript/output_names.h"

#include <ATen/core/jit_type.h>
#include <c10/util/StringUtil.h>

#include <set>

namespace sparsebit::frontends::torchscript {
namespace {

c10::TypePtr given_type(const c10::TypePtr& type) {
  const auto optional = type ? type->cast<c10::OptionalType>() : nullptr;
  return optional ? optional->getElementType() : type;
}

/// The type of an item of a collection; null when it is not known.
c10::TypePtr item_type(const c10::TypePtr& type, size_t index) {
  const c10::TypePtr given = given_type(type);
  if (!given) return nullptr;
  if (const auto tuple = given->cast<c10::TupleType>())
    return index < tuple->elements().size() ? tuple->elements()[index] : nullptr;
  if (const auto list = given->cast<c10::ListType>()) return list->getElementType();
  if (const auto dict = given->cast<c10::DictType>()) return dict->getValueType();
  return nullptr;
}

class ResultNames {
 public:
  explicit ResultNames(const fx::Graph& graph) {
    for (const fx::Node* input : graph.placeholders()) taken_.insert(input->target());
  }

  /// @param prefix  empty for the result as a whole.
  void add(const ScriptValue& datum, const c10::TypePtr& type, const std::string& prefix) {
    if (const ScriptValues* items = datum.items()) {
      for (size_t i = 0; i < items->size(); ++i)
        add((*items)[i], item_type(type, i), numbered(prefix, i));
    } else if (datum.is<DictRef>()) {
      const auto& pairs = *datum.get<DictRef>().items;
      for (const auto& [key, item] : pairs) {
        const bool text = key.is_value() && key.value().is_string();
        const std::string name = text ? key.value().string() : "";
        add(item, item_type(type, 0), prefix.empty() ? name : prefix + "." + name);
      }
    } else if (datum.is_node()) {
      add_node(type, prefix);
    } else if (datum.is<Boxed>() || datum.is_tensor() ||
               (datum.is_value() && datum.value().is_number())) {
      add_name(prefix);
    }
  }

  std::vector<std::string> take() {
    return known_ ? std::move(names_) : std::vector<std::string>();
  }

 private:
  static std::string numbered(const std::string& prefix, size_t index) {
    return prefix.empty() ? c10::str("output_", index) : c10::str(prefix, ".", index);
  }

  void add_node(const c10::TypePtr& type, const std::string& prefix) {
    const c10::TypePtr given = given_type(type);
    if (const auto tuple = given ? given->cast<c10::TupleType>() : nullptr) {
      for (size_t i = 0; i < tuple->elements().size(); ++i)
        add_node(tuple->elements()[i], numbered(prefix, i));
      return;
    }
    known_ &= given && (given->kind() == c10::TypeKind::TensorType ||
                        given->isSubtypeOf(*c10::NumberType::get()) ||
                        given->kind() == c10::TypeKind::BoolType);
    add_name(prefix);
  }

  void add_name(std::string name) {
    if (name.empty()) name = "output";
    const std::string base = name;
    for (int i = 1; !taken_.insert(name).second; ++i) name = c10::str(base, "_", i);
    names_.push_back(std::move(name));
  }

  std::set<std::string> taken_;
  std::vector<std::string> names_;
  bool known_ = true;
};

}  // namespace

std::vector<std::string> output_names(const ScriptValue& result, const c10::TypePtr& type,
                                      const fx::Graph& graph) {
  ResultNames names(graph);
  names.add(result, type, "");
  return names.take();
}

}  // namespace sparsebit::frontends::torchscript
