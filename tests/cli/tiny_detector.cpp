#include "cli/tiny_detector.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace sparsebit::cli::test {
namespace {

constexpr int64_t kSide = 64, kColumns = 7;  // box, objectness, two classes

onnx::NodeProto& add(onnx::GraphProto& graph, const char* type,
                     const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

void set_ints(onnx::NodeProto& node, const char* name, const std::vector<int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

void set_axis(onnx::NodeProto& node, int64_t axis) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("axis");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(axis);
}

void add_constant(onnx::GraphProto& graph, const at::Tensor& value, const std::string& name) {
  *graph.add_initializer() = io::to_tensor_proto(value, name);
}

/// Computes mean colors of the cells; red is the last channel. Boxes are the cells: center 0.5,
/// size 1.
void add_level(onnx::GraphProto& graph, int64_t stride, const std::string& output) {
  const std::string level = std::to_string(stride);
  const float unit = 12.f / 255 / static_cast<float>(stride * stride);
  at::Tensor weight = at::full({kColumns, 3, stride, stride}, unit / 1000);
  weight[5][2].fill_(unit);
  weight[5][0].fill_(-unit);
  weight[6][0].fill_(unit);
  weight[6][2].fill_(-unit);
  const float objectness = stride == 16 ? 6.f : -6.f;
  add_constant(graph, weight, "weight" + level);
  add_constant(graph, at::tensor({0.5f, 0.5f, 0.f, 0.f, objectness, -6.f, -6.f}), "bias" + level);
  onnx::NodeProto& conv =
      add(graph, "Conv", {"images", "weight" + level, "bias" + level}, "conv" + level);
  set_ints(conv, "kernel_shape", {stride, stride});
  set_ints(conv, "strides", {stride, stride});
  add_constant(graph, at::tensor({int64_t{1}, kColumns, int64_t{-1}}), "shape" + level);
  add(graph, "Reshape", {"conv" + level, "shape" + level}, output);
}

void set_shape(onnx::ValueInfoProto& info, const char* name, const std::vector<int64_t>& sizes) {
  info.set_name(name);
  onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  for (const int64_t size : sizes) tensor.mutable_shape()->add_dim()->set_dim_value(size);
}

// --- images --------------------------------------------------------------------------------------

/// A BMP file: pixels in BGR, rows from the bottom up.
std::string bitmap(const at::Tensor& image) {
  const auto number = [](int64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i, value /= 256) text += static_cast<char>(value % 256);
    return text;
  };
  const at::Tensor rows = image.flip({0, 1}).permute({1, 2, 0}).contiguous();
  const std::string pixels(reinterpret_cast<const char*>(rows.data_ptr<uint8_t>()),
                           static_cast<size_t>(rows.numel()));
  return "BM" + number(54 + std::ssize(pixels), 4) + number(0, 4) + number(54, 4) + number(40, 4) +
         number(image.size(2), 4) + number(image.size(1), 4) + number(1, 2) + number(24, 2) +
         number(0, 24) + pixels;
}

/// A square of a grid: position and class.
struct Square {
  int64_t row, column, label;
};

void paint(at::Tensor& image, const Square& square, int64_t side) {
  at::Tensor part = image.narrow(1, square.row * side, side).narrow(2, square.column * side, side);
  part.zero_();
  part[square.label == 0 ? 0 : 2].fill_(255);
}

}  // namespace

void save_tiny_detector(const std::filesystem::path& file) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("tiny_detector");
  set_shape(*graph.add_input(), "images", {1, 3, kSide, kSide});
  set_shape(*graph.add_output(), "output", {1, 84, kColumns});
  for (const int64_t stride : {8, 16, 32})
    add_level(graph, stride, "level" + std::to_string(stride));
  set_axis(add(graph, "Concat", {"level8", "level16", "level32"}, "levels"), 2);
  set_ints(add(graph, "Transpose", {"levels"}, "rows"), "perm", {0, 2, 1});
  add_constant(graph, at::tensor({int64_t{0}}), "zero");
  add_constant(graph, at::tensor({int64_t{4}}), "four");
  add_constant(graph, at::tensor({kColumns}), "seven");
  add_constant(graph, at::tensor({int64_t{2}}), "columns");
  add(graph, "Slice", {"rows", "zero", "four", "columns"}, "boxes");
  add(graph, "Slice", {"rows", "four", "seven", "columns"}, "logits");
  add(graph, "Sigmoid", {"logits"}, "probabilities");
  set_axis(add(graph, "Concat", {"boxes", "probabilities"}, "output"), 2);
  io::save_onnx(model, file);
}

void save_squares(const std::filesystem::path& folder, int images) {
  std::filesystem::create_directories(folder / "images");
  std::filesystem::create_directories(folder / "labels");
  for (int i = 0; i < images; ++i) {
    const bool is_wide = i % 2 == 0;  // the letterbox halves wide images
    const int64_t side = is_wide ? 32 : 16, columns = 4, rows = is_wide ? 2 : 4;
    at::Tensor image = at::full({3, rows * side, columns * side}, 60 + 10 * i, at::kByte);
    std::string labels;
    for (const Square& square : {Square{i % rows, i % columns, i % 2},
                                 Square{(i + 1) % rows, (i + 2) % columns, (i + 1) % 2}}) {
      paint(image, square, side);
      labels +=
          fmt::format("{} {} {} {} {}\n", square.label,
                      (static_cast<double>(square.column) + 0.5) / static_cast<double>(columns),
                      (static_cast<double>(square.row) + 0.5) / static_cast<double>(rows),
                      1. / static_cast<double>(columns), 1. / static_cast<double>(rows));
    }
    write_file_atomically(folder / "images" / fmt::format("{}.bmp", i), bitmap(image));
    write_file_atomically(folder / "labels" / fmt::format("{}.txt", i), labels);
  }
}

}  // namespace sparsebit::cli::test
