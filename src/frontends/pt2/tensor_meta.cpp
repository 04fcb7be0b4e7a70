#include "frontends/pt2/tensor_meta.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace sparsebit::frontends::pt2 {
namespace {

/// A fixed size; empty for an expression of symbols.
std::optional<int64_t> fixed_size(const JsonValue& size) {
  const auto [kind, value] = size.alternative();
  if (kind == "as_int") return value.integer();
  return std::nullopt;
}

/// The name of a size that is one symbol, "s0" or "Symbol('s0', positive=True, integer=True)";
/// empty for an expression.
std::string symbol_name(const JsonValue& size) {
  const auto [kind, value] = size.alternative();
  if (kind != "as_expr") return {};
  constexpr std::string_view kSymbol = "Symbol('";
  std::string text = value["expr_str"].text();
  if (text.starts_with(kSymbol) && text.find(')') == text.size() - 1)
    text = text.substr(kSymbol.size(), text.find('\'', kSymbol.size()) - kSymbol.size());
  const bool is_name = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
  return is_name ? text : std::string();
}

std::vector<int64_t> fixed_sizes(const JsonValue& sizes) {
  std::vector<int64_t> result;
  for (const JsonValue& size : sizes.items()) {
    const std::optional<int64_t> value = fixed_size(size);
    if (!value) size.fail("is not a number");
    result.push_back(*value);
  }
  return result;
}

}  // namespace

at::ScalarType scalar_type(const JsonValue& number) {
  static const std::map<int64_t, at::ScalarType> types = {
      {1, at::kByte},        {2, at::kChar},          {3, at::kShort},          {4, at::kInt},
      {5, at::kLong},        {6, at::kHalf},          {7, at::kFloat},          {8, at::kDouble},
      {9, at::kComplexHalf}, {10, at::kComplexFloat}, {11, at::kComplexDouble}, {12, at::kBool},
      {13, at::kBFloat16}};
  const int64_t value = number.integer();
  const auto found = types.find(value);
  SPARSEBIT_CHECK(found != types.end(), Unsupported, number.place(), ": elements of type ", value,
                  " (float8 or an unsigned integer of 16 bits or more) are not supported");
  return found->second;
}

fx::TensorInfo tensor_info(const JsonValue& meta) {
  fx::TensorInfo info{.shape = {}, .dtype = scalar_type(meta["dtype"])};
  bool named = false;
  for (const JsonValue& size : meta["sizes"].items()) {
    info.shape.push_back(fixed_size(size).value_or(-1));
    info.symbols.push_back(symbol_name(size));
    named |= !info.symbols.back().empty();
  }
  if (!named) info.symbols.clear();
  return info;
}

StridedLayout strided_layout(const JsonValue& meta) {
  constexpr int64_t kStrided = 7;
  SPARSEBIT_CHECK(meta["layout"].integer() == kStrided, Unsupported, meta.place(),
                  ": only dense tensors are supported");
  const std::optional<int64_t> offset = fixed_size(meta["storage_offset"]);
  if (!offset) meta.fail("has an offset that is not a number");
  return {scalar_type(meta["dtype"]), fixed_sizes(meta["sizes"]), fixed_sizes(meta["strides"]),
          *offset};
}

at::Tensor strided_tensor(const at::Tensor& bytes, const StridedLayout& layout,
                          const std::string& name) {
  const auto& [dtype, sizes, strides, offset] = layout;
  SPARSEBIT_CHECK(sizes.size() == strides.size() && sizes.size() <= 64 && offset >= 0, InvalidModel,
                  "tensor '", name, "' has a damaged shape");
  using Wide = unsigned __int128;
  Wide last = static_cast<Wide>(offset), count = 1;
  bool empty = false;
  constexpr Wide kMost = Wide{1} << 62;
  for (size_t i = 0; i < sizes.size(); ++i) {
    SPARSEBIT_CHECK(sizes[i] >= 0 && strides[i] >= 0, InvalidModel, "tensor '", name,
                    "' has a damaged shape");
    empty |= sizes[i] == 0;
    count *= static_cast<Wide>(std::max<int64_t>(sizes[i], 1));
    SPARSEBIT_CHECK(count < kMost, InvalidModel, "tensor '", name, "' has a damaged shape");
    if (sizes[i] > 0) last += static_cast<Wide>(sizes[i] - 1) * static_cast<Wide>(strides[i]);
  }
  const at::TensorOptions options(dtype);
  if (empty) return at::empty(sizes, options);
  SPARSEBIT_CHECK((last + 1) * c10::elementSize(dtype) <= static_cast<Wide>(bytes.numel()),
                  InvalidModel, "tensor '", name, "' of shape ", c10::IntArrayRef(sizes),
                  " is larger than its bytes in the file");
  at::Tensor tensor = at::empty({0}, options);
  tensor.set_(bytes.storage(), offset, sizes, strides);
  return tensor;
}

}  // namespace sparsebit::frontends::pt2
