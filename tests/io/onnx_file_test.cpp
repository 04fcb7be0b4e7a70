#include "sparsebit/io/onnx_file.h"

#include "io/onnx_names.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace sparsebit::io::onnx_file_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

onnx::ModelProto small_model() {
  onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(13);
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type("Add");
  node.add_input("x");
  node.add_input("w");
  node.add_output("y");
  *model.mutable_graph()->add_initializer() = to_tensor_proto(at::arange(1000.0F), "w");
  return model;
}

TEST(OnnxFile, RoundTripGivesTheSameBytes) {
  const test::TempDir dir;
  save_onnx(small_model(), dir / "a.onnx");
  save_onnx(load_onnx(dir / "a.onnx"), dir / "b.onnx");
  EXPECT_EQ(read_file(dir / "a.onnx"), read_file(dir / "b.onnx"));
  EXPECT_TRUE(looks_like_onnx(read_file(dir / "a.onnx")));
  EXPECT_FALSE(looks_like_onnx("PK\x03\x04"));
  const std::string safetensors("\x08\x07\0\0\0\0\0\0{\"__metadata__\"", 22);
  EXPECT_FALSE(looks_like_onnx(safetensors));
}

TEST(OnnxFile, LargeModelsKeepTheirWeightsBesideThem) {
  const test::TempDir dir;
  save_onnx(small_model(), dir / "a.onnx", {.largest_file = 1000});
  EXPECT_LT(std::filesystem::file_size(dir / "a.onnx"), 300U);
  EXPECT_EQ(std::filesystem::file_size(dir / "a.onnx.data"), 4000U);

  onnx::ModelProto model = load_onnx(dir / "a.onnx");
  ExternalData external(dir.path());
  const at::Tensor weight = take_tensor(*model.mutable_graph()->mutable_initializer(0), external);
  EXPECT_TRUE(at::equal(weight, at::arange(1000.0F)));
}

onnx::TensorProto stored_in(const std::string& file) {
  onnx::TensorProto tensor;
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  tensor.add_external_data()->set_key("location");
  tensor.mutable_external_data(0)->set_value(file);
  return tensor;
}

TEST(OnnxFile, DataFilesAreFoundWhereverTensorsAre) {
  onnx::ModelProto model = small_model();
  EXPECT_THAT(external_files(model), testing::IsEmpty());
  onnx::GraphProto& graph = *model.mutable_graph();
  *graph.add_initializer() = stored_in("a");
  *graph.add_sparse_initializer()->mutable_values() = stored_in("b");
  *graph.mutable_sparse_initializer(0)->mutable_indices() = stored_in("c");
  onnx::AttributeProto& attribute = *graph.mutable_node(0)->add_attribute();
  *attribute.mutable_t() = stored_in("d");
  *attribute.add_tensors() = stored_in("e");
  *attribute.mutable_sparse_tensor()->mutable_values() = stored_in("f");
  *attribute.add_sparse_tensors()->mutable_indices() = stored_in("g");
  *attribute.mutable_g()->add_initializer() = stored_in("h");
  *attribute.add_graphs()->add_node()->add_attribute()->mutable_t() = stored_in("i");
  onnx::FunctionProto& function = *model.add_functions();
  *function.add_node()->add_attribute()->mutable_t() = stored_in("j");
  *model.add_training_info()->mutable_algorithm()->add_initializer() = stored_in("k");
  onnx::AttributeProto otherwise;
  *otherwise.mutable_t() = stored_in("l");
  auto& unknown = *function.GetReflection()->MutableUnknownFields(&function);
  unknown.AddLengthDelimited(11, otherwise.SerializeAsString());
  unknown.AddLengthDelimited(11, "\xFF");
  EXPECT_THAT(external_files(parse_onnx(model.SerializeAsString(), "m")),
              testing::ElementsAre("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"));
}

TEST(OnnxFile, FilesOfWeightsCountAsTheModels) {
  const test::TempDir dir;
  save_onnx(small_model(), dir / "a.onnx");
  EXPECT_THAT(model_files(dir / "a.onnx"), testing::ElementsAre(dir / "a.onnx"));
  save_onnx(small_model(), dir / "b.onnx", {.largest_file = 0});
  EXPECT_THAT(model_files(dir / "b.onnx"),
              testing::ElementsAre(dir / "b.onnx", dir / "b.onnx.data"));
  EXPECT_EQ(bytes_of_model(dir / "b.onnx"), std::filesystem::file_size(dir / "b.onnx") +
                                                std::filesystem::file_size(dir / "b.onnx.data"));
  write_file_atomically(dir / "c.pt", "no ONNX");
  EXPECT_EQ(bytes_of_model(dir / "c.pt"), 7u);
}

TEST(OnnxFile, WeightsAreNotWrittenWithoutTheirModel) {
  const test::TempDir dir;
  std::filesystem::create_directory(dir / "a.onnx");
  EXPECT_THROW(save_onnx(small_model(), dir / "a.onnx", {.largest_file = 1000}), Error);
  EXPECT_FALSE(std::filesystem::exists(dir / "a.onnx.data"));
}

TEST(OnnxFile, BadFilesAreErrorsThatNameThem) {
  const test::TempDir dir;
  const std::string good = small_model().SerializeAsString();
  const auto error_of = [&](const std::string& bytes) {
    write_file_atomically(dir / "bad.onnx", bytes);
    try {
      load_onnx(dir / "bad.onnx");
    } catch (const Error& e) {
      return std::string(e.what()).substr(std::string(e.what()).find("bad.onnx"));
    }
    return std::string("no error");
  };
  EXPECT_EQ(error_of(good.substr(0, good.size() / 2)),
            "bad.onnx: not a valid ONNX file (" + std::to_string(good.size() / 2) +
                " bytes); truncated, damaged, nested too deeply, or another format");
  EXPECT_THAT(error_of("hello"), HasSubstr("not a valid ONNX file (5 bytes)"));
  EXPECT_EQ(error_of(""), "bad.onnx: not an ONNX model: it has no graph");
  // a length field of 2 GB in a file of a few bytes
  EXPECT_THAT(error_of(std::string("\x3A\xFF\xFF\xFF\xFF\x07", 6)),
              HasSubstr("not a valid ONNX file"));
  EXPECT_THAT([&] { load_onnx(dir / "none.onnx"); },
              ThrowsMessage<Error>(HasSubstr("cannot read")));
}

struct BadName {
  const char* name;
  void (*set)(onnx::ModelProto& model, const std::string& bad);
  const char* message;
};

class OnnxNames : public testing::TestWithParam<BadName> {};

TEST_P(OnnxNames, MustBeText) {
  onnx::ModelProto model = small_model();
  model.mutable_graph()->mutable_node(0)->set_name("first");
  GetParam().set(model, "\xFF\xFE");
  EXPECT_THAT([&] { parse_onnx(model.SerializeAsString(), "m"); },
              ThrowsMessage<Error>(GetParam().message));
}

const BadName kBadNames[] = {
    {"Node",
     [](onnx::ModelProto& m, const std::string& s) {
       m.mutable_graph()->mutable_node(0)->set_name(s);
     },
     "m: node 0 (Add): its name is not UTF-8 text"},
    {"NodeOutput",
     [](onnx::ModelProto& m, const std::string& s) {
       m.mutable_graph()->mutable_node(0)->set_output(0, s);
     },
     "m: node 'first' (Add): the name of output 0 is not UTF-8 text"},
    {"Subgraph",
     [](onnx::ModelProto& m, const std::string& s) {
       onnx::AttributeProto& branch = *m.mutable_graph()->mutable_node(0)->add_attribute();
       branch.set_name("body");
       branch.mutable_g()->add_node()->add_input(s);
     },
     "m: node 'first' (Add), attribute 'body': node 0: the name of input 0 is not UTF-8 text"},
    {"ValueInfo",
     [](onnx::ModelProto& m, const std::string& s) {
       m.mutable_graph()->add_value_info()->set_name(s);
     },
     "m: the name of a value is not UTF-8 text"},
    {"Size",
     [](onnx::ModelProto& m, const std::string& s) {
       onnx::ValueInfoProto& value = *m.mutable_graph()->add_value_info();
       value.set_name("h");
       value.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param(s);
     },
     "m: a dimension name of 'h' is not UTF-8 text"},
    {"SparseInitializer",
     [](onnx::ModelProto& m, const std::string& s) {
       m.mutable_graph()->add_sparse_initializer()->mutable_values()->set_name(s);
     },
     "m: the name of a sparse initializer is not UTF-8 text"},
    {"TensorsOfAttribute",
     [](onnx::ModelProto& m, const std::string& s) {
       m.mutable_graph()->mutable_node(0)->add_attribute()->add_tensors()->set_name(s);
     },
     "m: node 'first' (Add): the name of a tensor is not UTF-8 text"},
    {"SparseTensor",
     [](onnx::ModelProto& m, const std::string& s) {
       onnx::AttributeProto& value = *m.mutable_graph()->mutable_node(0)->add_attribute();
       value.mutable_sparse_tensor()->mutable_values()->set_name(s);
     },
     "m: node 'first' (Add): the name of a sparse tensor is not UTF-8 text"},
    {"SparseTensors",
     [](onnx::ModelProto& m, const std::string& s) {
       onnx::AttributeProto& value = *m.mutable_graph()->mutable_node(0)->add_attribute();
       value.add_sparse_tensors()->mutable_indices()->set_name(s);
     },
     "m: node 'first' (Add): the name of a sparse tensor's indices is not UTF-8 text"},
    {"Function",
     [](onnx::ModelProto& m, const std::string& s) {
       onnx::FunctionProto& function = *m.add_functions();
       function.set_name("f");
       function.add_node()->set_domain(s);
     },
     "m: function 'f': node 0: its domain is not UTF-8 text"},
    {"Metadata",
     [](onnx::ModelProto& m, const std::string& s) { m.add_metadata_props()->set_key(s); },
     "m: a key of its metadata is not UTF-8 text"},
};
INSTANTIATE_TEST_SUITE_P(Places, OnnxNames, testing::ValuesIn(kBadNames),
                         [](const auto& info) { return std::string(info.param.name); });

struct SameName {
  const char* name;
  void (*add)(onnx::GraphProto& graph);
  const char* message;
};

class OnnxSameNames : public testing::TestWithParam<SameName> {};

TEST_P(OnnxSameNames, AreRefused) {
  onnx::ModelProto model = small_model();
  model.mutable_graph()->mutable_node(0)->set_name("first");
  model.mutable_graph()->add_input()->set_name("x");
  GetParam().add(*model.mutable_graph());
  EXPECT_THAT([&] { parse_onnx(model.SerializeAsString(), "m"); },
              ThrowsMessage<Error>(GetParam().message));
}

const SameName kSameNames[] = {
    {"Inputs", [](onnx::GraphProto& graph) { graph.add_input()->set_name("x"); },
     "m: the input 'x' is there twice"},
    {"InputsWithADefault",
     [](onnx::GraphProto& graph) {
       graph.add_input()->set_name("w");
       graph.add_input()->set_name("w");
     },
     "m: the input 'w' is there twice"},
    {"Initializers", [](onnx::GraphProto& graph) { graph.add_initializer()->set_name("w"); },
     "m: the initializer 'w' is there twice"},
    {"SparseInitializers",
     [](onnx::GraphProto& graph) {
       graph.add_sparse_initializer()->mutable_values()->set_name("w");
     },
     "m: the initializer 'w' is there twice"},
    {"InSubgraph",
     [](onnx::GraphProto& graph) {
       onnx::AttributeProto& body = *graph.mutable_node(0)->add_attribute();
       body.set_name("body");
       body.mutable_g()->add_input()->set_name("i");
       body.mutable_g()->add_input()->set_name("i");
     },
     "m: node 'first' (Add), attribute 'body': the input 'i' is there twice"},
};
INSTANTIATE_TEST_SUITE_P(Places, OnnxSameNames, testing::ValuesIn(kSameNames),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(OnnxFile, AnInitializerCalledLikeAnInputIsItsDefault) {
  onnx::ModelProto model = small_model();
  for (const char* name : {"x", "w"}) model.mutable_graph()->add_input()->set_name(name);
  EXPECT_EQ(parse_onnx(model.SerializeAsString(), "m").graph().input_size(), 2);
}

TEST(OnnxFile, FormsOfText) {
  for (const char* good : {"", "a", "\xC3\xA9", "\xE2\x82\xAC", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(good)) << testing::PrintToString(good);
  }
  for (const char* bad : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xC3", "\xC3\x28", "\xE0\x9F\xBF",
                          "\xED\xA0\x80", "\xED\xBF\xBF", "\xE2\x82", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF0\x90\x80"}) {
    EXPECT_FALSE(is_utf8(bad)) << testing::PrintToString(bad);
  }
}

TEST(OnnxFile, GraphsNestedTooDeeplyAreRefused) {
  onnx::ModelProto model = small_model();
  onnx::GraphProto* graph = model.mutable_graph();
  for (int depth = 0; depth < 200; ++depth) {
    onnx::NodeProto* node = graph->add_node();
    node->set_op_type("If");
    graph = node->add_attribute()->mutable_g();
  }
  EXPECT_THAT([&] { parse_onnx(model.SerializeAsString(), "m"); },
              ThrowsMessage<Error>(HasSubstr("nested too deeply")));
}

}  // namespace
}  // namespace sparsebit::io::onnx_file_test
