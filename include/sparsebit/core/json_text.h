#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace sparsebit {

/// Indented JSON text. Names of files and of nodes may be any bytes: those that are not UTF-8 are
/// replaced by U+FFFD.
template <class Json>
std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sparsebit
