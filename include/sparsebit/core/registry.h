#pragma once

#include "sparsebit/core/error.h"
#include "sparsebit/core/letter_case.h"
#include "sparsebit/core/near_match.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparsebit {

/// Entries by name (observers, passes, operators, models), with suggestions for unknown names.
///
/// Define a registry as a static local of a function that adds all entries. This needs no macro,
/// and the linker cannot drop it from a static library as it drops static registrar objects:
///
///     using ObserverFactory = std::function<std::unique_ptr<Observer>(const QuantSpec&)>;
///
///     Registry<ObserverFactory>& observers() {
///       static Registry<ObserverFactory> registry = [] {
///         Registry<ObserverFactory> r("observer");
///         r.add("minmax", make_min_max);  // one line per observer
///         return r;
///       }();
///       return registry;
///     }
///
///     auto observer = observers().get("minmax")(spec);
///
/// Reading from several threads is safe; add() is not, so call it before threads start.
template <class Entry>
class Registry {
 public:
  /// `noun` is what one entry is called in error messages: "observer".
  explicit Registry(std::string noun) : noun_(std::move(noun)) {}

  /// Stores `entry` and returns it; the reference stays valid as long as the registry lives.
  /// Throws InvalidArgument if the name is taken.
  Entry& add(std::string name, Entry entry) {
    const auto [it, is_new] = entries_.try_emplace(std::move(name), std::move(entry));
    SPARSEBIT_CHECK(is_new, InvalidArgument, noun_, " '", it->first, "' is registered twice");
    return it->second;
  }

  /// The entry, or nullptr if there is none.
  const Entry* find(std::string_view name) const {
    const auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : &it->second;
  }

  /// The entry. Throws InvalidArgument with near or known names if there is none.
  const Entry& get(std::string_view name) const {
    const Entry* entry = find(name);
    SPARSEBIT_CHECK(entry != nullptr, InvalidArgument, "unknown ", noun_, " '", name, "'",
                    hint(name));
    return *entry;
  }

  /// Whether there is an entry of this name.
  bool contains(std::string_view name) const { return find(name) != nullptr; }

  /// All names, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> sorted;
    sorted.reserve(entries_.size());
    for (const auto& [name, entry] : entries_) sorted.push_back(name);
    return sorted;
  }

  /// Lets errors name `name` to those who write `other`, which does not become a name by that.
  void suggest(std::string other, std::string name) {
    SPARSEBIT_CHECK(contains(name), InvalidArgument, "there is no ", noun_, " '", name, "'");
    suggestions_.insert_or_assign(std::move(other), std::move(name));
  }

  /// "; did you mean 'minmax'?" for an unknown name, or nothing when no name is near.
  std::string did_you_mean(std::string_view name) const {
    const auto meant = suggestions_.find(lower_case(std::string(name)));
    if (meant != suggestions_.end()) return "; did you mean '" + meant->second + "'?";
    return ::sparsebit::did_you_mean(name, names());
  }

  /// How many entries there are.
  size_t size() const { return entries_.size(); }

  /// What one entry is called in error messages.
  const std::string& noun() const { return noun_; }

 private:
  static constexpr size_t kMostListed = 12;

  std::string hint(std::string_view name) const {
    const std::vector<std::string> known = names();
    if (std::string near = did_you_mean(name); !near.empty()) return near;
    if (known.empty()) return "; none are known";
    if (known.size() > kMostListed) return "; " + std::to_string(known.size()) + " are known";
    std::string list = "; known: " + known.front();
    for (size_t i = 1; i < known.size(); ++i) list += ", " + known[i];
    return list;
  }

  std::string noun_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, std::string> suggestions_;  ///< what people write, in small letters
};

}  // namespace sparsebit
