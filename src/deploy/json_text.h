#pragma once

#include "sparsebit/core/error.h"
#include "sparsebit/core/json_view.h"

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace sparsebit::deploy {

using Json = nlohmann::ordered_json;

/// A part of a file that is read, with its place.
using View = JsonView<Json>;

/// Parses JSON and returns the result of `read`. Throws InvalidModel, naming the format and the
/// place, when the text is not JSON or lacks a key that `read` needs.
template <class Read>
auto read_json(const std::string& text, const std::string& format, const Read& read) {
  const Json json = parse_json<Json>(text, format, ErrorKind::InvalidModel);
  return read(View(json, format, ErrorKind::InvalidModel));
}

/// Numbers of a tensor, in order.
std::vector<double> numbers_of(const at::Tensor& tensor);

/// One number, or a list when there is one per channel.
Json number_or_list(const at::Tensor& tensor);

/// The inverse of number_or_list(): a single number becomes a list of one.
std::vector<double> list_of(const View& value);

/// Indented JSON text.
std::string pretty(const Json& json);

}  // namespace sparsebit::deploy
