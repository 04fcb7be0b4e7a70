#pragma once

#include "sparsebit/core/error_context.h"

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace sparsebit::deploy {

using Json = nlohmann::ordered_json;

/// What `read` makes of a file. Throws InvalidModel, naming the format, when it is not JSON or has
/// not what `read` looks for.
template <class Read>
auto read_json(const std::string& text, const std::string& format, const Read& read) {
  try {
    return read(Json::parse(text));
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::InvalidModel, format + ": " + reason_of(e));
  }
}

/// Numbers of a tensor, in order.
std::vector<double> numbers_of(const at::Tensor& tensor);

/// One number, or a list when there is one per channel.
Json number_or_list(const at::Tensor& tensor);

/// The inverse: one number is a list of one.
std::vector<double> list_of(const Json& json);

/// With line breaks, for people.
std::string pretty(const Json& json);

}  // namespace sparsebit::deploy
