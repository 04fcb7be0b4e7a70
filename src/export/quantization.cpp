#include "export/quantization.h"

#include "export/exporter.h"

#include "sparsebit/core/error.h"
#include "sparsebit/quant/quantizers/bias.h"
#include "sparsebit/quant/spec/qparams.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>

namespace sparsebit::exports {
namespace {

using fx::Node;
using onnx::TensorProto;
using quant::Quantizer;
using quant::QuantSpec;

// Types of opset 21, which the installed onnx headers may not have.
constexpr int32_t kUint4 = 21, kInt4 = 22;
constexpr int64_t kOpsetOfFourBits = 21;
constexpr int64_t kOpsetOfAxes = 13;

/// The libtorch type with the same integers, if there is one.
std::optional<at::ScalarType> torch_type(int32_t type) {
  switch (type) {
    case TensorProto::INT8:
      return at::kChar;
    case TensorProto::UINT8:
      return at::kByte;
    case TensorProto::INT16:
      return at::kShort;
    case TensorProto::INT32:
      return at::kInt;
    default:
      return std::nullopt;
  }
}

/// Integers of 4 bits, two in a byte, the first in its lower half.
TensorProto packed(const at::Tensor& integers, int32_t type) {
  const at::Tensor flat = integers.contiguous();
  const std::span<const int32_t> numbers(flat.data_ptr<int32_t>(),
                                         static_cast<size_t>(flat.numel()));
  std::string bytes((numbers.size() + 1) / 2, '\0');
  for (size_t i = 0; i < numbers.size(); ++i)
    bytes[i / 2] = static_cast<char>(bytes[i / 2] | (numbers[i] & 15) << (i % 2 * 4));
  TensorProto proto;
  proto.set_data_type(type);
  for (const int64_t size : integers.sizes()) proto.add_dims(size);
  proto.set_raw_data(std::move(bytes));
  return proto;
}

OnnxTensor integer_constant(GraphWriter& w, const at::Tensor& integers, int32_t type,
                            const std::string& name) {
  if (const auto known = torch_type(type)) return w.constant(integers.to(*known), name);
  return w.packed_constant(packed(integers, type), name.empty() ? "zero_point" : name);
}

Attrs attributes_of(const Quantized& integers) {
  Attrs attrs = integers.extra;
  if (integers.is_per_tensor()) return attrs;
  attrs.emplace_back("axis", integers.group_size == 0 ? integers.axis : integers.group_axis);
  if (integers.group_size > 0) attrs.emplace_back("block_size", integers.group_size);
  return attrs;
}

/// Scales of blocked quantization: one per block and per position on the other axes.
at::Tensor over_blocks(const at::Tensor& per_group, const Quantized& weight) {
  std::vector<int64_t> shape(static_cast<size_t>(weight.q.dim()), 1), full = weight.q.sizes().vec();
  shape[static_cast<size_t>(weight.axis)] = per_group.size(0);
  shape[static_cast<size_t>(weight.group_axis)] = per_group.size(1);
  full[static_cast<size_t>(weight.group_axis)] = per_group.size(1);
  const bool groups_first = weight.group_axis < weight.axis;
  return (groups_first ? per_group.t() : per_group).reshape(shape).expand(full).contiguous();
}

/// Sets a node's doc string.
void note(GraphWriter& w, const OnnxTensor& made, const std::string& text) {
  if (!text.empty()) w.set_doc(made, text);
}

std::string note_of(const Quantizer& quantizer) {
  return c10::str("bits=", quantizer.spec().bits, " ", quantizer.summary());
}

/// Opsets before 21 have no blocked quantization: stores each group as a row, quantized per row,
/// and restores the shape with Reshape.
OnnxTensor dequantized_by_rows(GraphWriter& w, const Quantized& weight) {
  const int64_t rows = weight.scale.numel();
  const OnnxTensor q = integer_constant(w, weight.q.reshape({rows, -1}), weight.type, weight.name);
  Attrs attrs = weight.extra;
  attrs.emplace_back("axis", 0);
  const OnnxTensor flat =
      w.op("DequantizeLinear",
           {q, w.constant(weight.scale.reshape({-1})),
            integer_constant(w, weight.zero_point.reshape({-1}), weight.type, "")},
           attrs, at::kFloat, Shape{rows, weight.q.numel() / rows});
  note(w, flat, weight.note);
  return w.reshape(flat, weight.q.sizes().vec());
}

}  // namespace

IntegerType integer_type(const QuantSpec& spec, int64_t opset, bool four_bit_types) {
  const bool is_signed = spec.qmin() < 0;
  const auto with_bits = [&](int bits, int32_t of_signed, int32_t of_unsigned) {
    const int64_t lowest = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    const int64_t highest = lowest + (int64_t{1} << bits) - 1;
    const bool exact = spec.qmin() == lowest && spec.qmax() == highest;
    return IntegerType{is_signed ? of_signed : of_unsigned, exact};
  };
  const bool is_weight = spec.target == quant::Target::Weight;
  if (is_weight && spec.bits <= 4 && opset >= kOpsetOfFourBits && four_bit_types)
    return with_bits(4, kInt4, kUint4);
  if (spec.target == quant::Target::Bias) return {TensorProto::INT32, true};
  if (spec.bits <= 8) return with_bits(8, TensorProto::INT8, TensorProto::UINT8);
  SPARSEBIT_CHECK(opset >= kOpsetOfFourBits, Unsupported, "integers of ", spec.bits,
                  " bits need opset ", kOpsetOfFourBits, ", not ", opset);
  IntegerType type = with_bits(16, TensorProto::INT16, TensorProto::INT16);
  if (!is_signed) type.offset = 1 << (spec.bits - 1);
  return type;
}

OnnxTensor dequantized(GraphWriter& w, Quantized weight) {
  SPARSEBIT_CHECK(weight.is_per_tensor() || w.opset() >= kOpsetOfAxes, Unsupported,
                  "scales per channel need opset ", kOpsetOfAxes, ", not ", w.opset());
  if (weight.group_size > 0 && w.opset() < kOpsetOfFourBits) return dequantized_by_rows(w, weight);
  const bool groups = weight.group_size > 0;
  const at::Tensor scale = groups ? over_blocks(weight.scale, weight) : weight.scale;
  const at::Tensor zero = groups ? over_blocks(weight.zero_point, weight) : weight.zero_point;
  const OnnxTensor q = integer_constant(w, weight.q, weight.type, weight.name);
  std::vector<OnnxTensor> inputs = {q, w.constant(scale, weight.name + ".scale")};
  if (weight.type != TensorProto::INT32)
    inputs.push_back(integer_constant(w, zero, weight.type, weight.name + ".zero_point"));
  OnnxTensor made =
      w.op("DequantizeLinear", inputs, attributes_of(weight), at::kFloat, weight.q.sizes().vec());
  note(w, made, weight.note);
  made.integers = std::make_shared<Quantized>(std::move(weight));
  return made;
}

std::optional<OnnxTensor> transposed_integers(GraphWriter& w, const OnnxTensor& x,
                                              const std::vector<int64_t>& order) {
  if (!x.integers || !x.integers->q.defined()) return std::nullopt;
  Quantized weight = *x.integers;
  const auto moved = [&](int64_t axis) {
    return std::find(order.begin(), order.end(), axis) - order.begin();
  };
  weight.q = weight.q.permute(order).contiguous();
  weight.axis = moved(weight.axis);
  weight.group_axis = moved(weight.group_axis);
  weight.name += "_t";
  return dequantized(w, std::move(weight));
}

// --- quantizers of a graph ---------------------------------------------------------------------

Attrs Exporter::extra_attributes(const QuantSpec& spec) const {
  return options_.quantized.bits_attribute ? Attrs{{"bits", spec.bits}} : Attrs{};
}

NodeResult Exporter::write_quantizer(const Node& node, const Quantizer& quantizer) {
  const Node& input = *node.inputs().front();
  if (quantizer.is_off_for_good()) return value_of(input);
  SPARSEBIT_CHECK(quantizer.is_calibrated(), InvalidArgument,
                  "not calibrated, so there is no scale to export");
  const at::Tensor* weight =
      input.op() == fx::Opcode::GetAttr ? module_.find_tensor(input.target()) : nullptr;
  const auto* bias = dynamic_cast<const quant::Bias*>(&quantizer);
  if (bias && bias->is_float() && weight && !writes_fake_quantize())
    return writer_.constant(bias->corrected(weight->detach()), input.target());
  NodeResult result = writes_fake_quantize()
                          ? write_fake_quantize(node, quantizer, value_of(input).sym())
                      : weight ? write_weight_quantizer(node, quantizer, *weight)
                               : write_activation_quantizer(node, quantizer, value_of(input).sym());
  name_result(node, result);
  return result;
}

NodeResult Exporter::write_weight_quantizer(const Node& node, const Quantizer& quantizer,
                                            const at::Tensor& weight) {
  const QuantSpec& spec = quantizer.spec();
  const quant::QParams found = quantizer.final_qparams();
  const IntegerType type = integer_type(spec, writer_.opset(), options_.quantized.four_bit_types);
  return dequantized(writer_, {.scale = found.scale,
                               .zero_point = found.zero_point.to(at::kInt) - type.offset,
                               .type = type.type,
                               .axis = spec.channel_axis,
                               .group_size = spec.group_size,
                               .q = quantizer.integers(weight) - type.offset,
                               .name = node.inputs().front()->target() + "_quantized",
                               .note = note_of(quantizer),
                               .extra = extra_attributes(spec)});
}

NodeResult Exporter::write_activation_quantizer(const Node& node, const Quantizer& quantizer,
                                                OnnxTensor x) {
  const QuantSpec& spec = quantizer.spec();
  const quant::QParams found = quantizer.final_qparams();
  if (const std::optional<double> divisor = quantizer.squeezes_by())
    x = writer_.div(writer_.unary("Tanh", x), *divisor);
  const IntegerType type = integer_type(spec, writer_.opset(), options_.quantized.four_bit_types);
  SPARSEBIT_CHECK(found.scale.dim() == 0 || writer_.opset() >= kOpsetOfAxes, Unsupported,
                  "scales per channel need opset ", kOpsetOfAxes, ", not ", writer_.opset());
  if (!type.is_exact) {  // QuantizeLinear clips at the type's bounds, which are wider
    const at::Tensor zero = found.zero_point;
    const auto bound = [&](int64_t q) {
      const at::Tensor number = (static_cast<double>(q) - zero) * found.scale;
      if (number.dim() == 0) return writer_.constant(number);
      std::vector<int64_t> shape(static_cast<size_t>(x.rank() - spec.channel_axis), 1);
      shape[0] = -1;
      return writer_.constant(number.reshape(shape));
    };
    x = writer_.maximum(writer_.minimum(x, bound(spec.qmax())), bound(spec.qmin()));
  }
  Quantized integers{.scale = found.scale,
                     .zero_point = found.zero_point.to(at::kInt) - type.offset,
                     .type = type.type,
                     .axis = spec.channel_axis,
                     .note = note_of(quantizer),
                     .extra = extra_attributes(spec)};
  const auto [known, is_first] = scales_.try_emplace(&quantizer);
  if (is_first) {  // values with the same quantizer share scale and zero point
    known->second = {
        writer_.constant(found.scale, node.target() + ".scale"),
        integer_constant(writer_, integers.zero_point, type.type, node.target() + ".zero_point")};
  }
  const auto& [scale, zero] = known->second;
  const Attrs attrs = attributes_of(integers);
  const OnnxTensor q =
      writer_.op("QuantizeLinear", {x, scale, zero}, attrs,
                 torch_type(type.type).value_or(at::ScalarType::Undefined), x.shape);
  OnnxTensor made = writer_.op("DequantizeLinear", {q, scale, zero}, attrs, at::kFloat, x.shape);
  note(writer_, q, integers.note);
  note(writer_, made, integers.note);
  made.integers = std::make_shared<Quantized>(std::move(integers));
  return made;
}

}  // namespace sparsebit::exports
