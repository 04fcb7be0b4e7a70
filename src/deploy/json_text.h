#pragma once

#include "sparsebit/core/error.h"

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace sparsebit::deploy {

using Json = nlohmann::ordered_json;

/// Parses JSON and returns the result of `read`. Throws InvalidModel, naming the format, when the
/// text is not JSON or lacks a key that `read` needs.
template <class Read>
auto read_json(const std::string& text, const std::string& format, const Read& read) {
  try {
    return read(Json::parse(text));
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::InvalidModel, format + ": " + e.what());
  }
}

/// Numbers of a tensor, in order.
std::vector<double> numbers_of(const at::Tensor& tensor);

/// One number, or a list when there is one per channel.
Json number_or_list(const at::Tensor& tensor);

/// The inverse of number_or_list(): a single number becomes a list of one.
std::vector<double> list_of(const Json& json);

/// Indented JSON text.
std::string pretty(const Json& json);

}  // namespace sparsebit::deploy
