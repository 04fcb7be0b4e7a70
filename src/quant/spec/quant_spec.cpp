#include "sparsebit/quant/spec/quant_spec.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"

#include <array>
#include <bit>

namespace sparsebit::quant {
namespace {

struct NamedScheme {
  const char* name;
  QuantScheme scheme;
};

constexpr std::array<NamedScheme, 4> kSchemes = {{
    {"per-tensor-symmetric", {Granularity::PerTensor, Symmetry::Symmetric}},
    {"per-tensor-affine", {Granularity::PerTensor, Symmetry::Affine}},
    {"per-channel-symmetric", {Granularity::PerChannel, Symmetry::Symmetric}},
    {"per-channel-affine", {Granularity::PerChannel, Symmetry::Affine}},
}};

}  // namespace

std::string to_string(const QuantScheme& scheme) {
  for (const auto& [name, known] : kSchemes) {
    if (known == scheme) return name;
  }
  return "?";
}

QuantScheme scheme_from_text(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [name, scheme] : kSchemes) {
    if (text == name) return scheme;
    names.emplace_back(name);
  }
  const std::string near = did_you_mean(text, names);
  throw Error(ErrorKind::InvalidArgument,
              c10::str("unknown scheme '", text, "'",
                       near.empty() ? "; known: " + names[0] + ", " + names[1] + ", " + names[2] +
                                          ", " + names[3]
                                    : near));
}

bool IntegerRange::fits(int bits) const {
  const int64_t half = int64_t{1} << (bits - 1);
  const bool in_type = low < 0 ? low >= -half && high < half : high < 2 * half;
  return low < high && in_type;
}

bool IntegerRange::is_balanced() const { return low == 0 || low == -high || low == -high - 1; }

int64_t QuantSpec::qmin() const {
  if (range) return range->low;
  if (!is_symmetric()) return 0;
  return -(int64_t{1} << (bits - 1)) + (restricted ? 1 : 0);
}

int64_t QuantSpec::qmax() const {
  if (range) return range->high;
  return is_symmetric() ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
}

int QuantSpec::bits_in_use() const {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(qmax() - qmin())));
}

std::string QuantSpec::type_name() const {
  return (qmin() < 0 ? "int" : "uint") + std::to_string(bits);
}

}  // namespace sparsebit::quant
