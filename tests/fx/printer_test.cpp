#include "sparsebit/fx/printer.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sparsebit::fx::printer_test {
namespace {

std::unique_ptr<GraphModule> small_model() {
  auto module = std::make_unique<GraphModule>(parse_graph(R"(
      %x = input()
      %scale = self.scale
      %fc = self.head.fc(%x)
      %mul = torch.mul(%fc, %scale)
      %odd = my.func(%mul, 'a<b>"c"#')
      return %odd)"),
                                              "Model");
  module->add_parameter("scale", at::ones({4}));
  module->set_module("head.fc", nn::Linear(2, 4));
  return module;
}

TEST(Printer, MermaidEscapesLabelsAndNamesFunctions) {
  EXPECT_EQ(to_mermaid(*small_model()), R"(graph TD
x["x(x), #lt;#lt;input#gt;#gt;"]
style x fill:#cafe02
scale["scale(scale), #lt;#lt;nn.Parameter#gt;#gt;"]
fc["fc(head.fc), #lt;#lt;torch.nn.Linear#gt;#gt;"]
mul["mul(torch.mul), #lt;#lt;mul#gt;#gt;"]
odd["odd(my.func), #lt;#lt;?#gt;#gt;"]
output["output(output), #lt;#lt;output#gt;#gt;"]
style output fill:#cafe02
x --> fc
fc --> mul
scale --> mul
mul --> odd
odd --> output
)");
}

TEST(Printer, MermaidAvoidsItsOwnWordsAsIds) {
  const GraphModule module(parse_graph("%end = input()\nreturn %end"), "Model");
  EXPECT_THAT(to_mermaid(module), testing::HasSubstr("end_node[\"end(end), "));
  EXPECT_THAT(to_mermaid(module), testing::HasSubstr("end_node --> output\n"));
}

TEST(Printer, TableHasOneRowPerNode) {
  EXPECT_EQ(to_table(*small_model()),
            R"(opcode         name    target     kind             args                kwargs
-------------  ------  ---------  ---------------  ------------------  ------
placeholder    x       x          input            ()
get_attr       scale   scale      nn.Parameter     ()
call_module    fc      head.fc    torch.nn.Linear  (%x,)
call_function  mul     torch.mul  mul              (%fc, %scale)
call_function  odd     my.func    ?                (%mul, 'a<b>"c"#')
output         output  output     output           (%odd,)
)");
}

TEST(Printer, TableShowsRecordedShapes) {
  GraphModule module(parse_graph("%x = input()\n%y = %x.size(0)\n%z = torch.neg(%x)\nreturn %z"),
                     "Model");
  record_shapes(module, {at::ones({2, 3})});
  EXPECT_EQ(to_table(module),
            R"(opcode         name    target     kind    output         args     kwargs
-------------  ------  ---------  ------  -------------  -------  ------
placeholder    x       x          input   float32[2, 3]  ()
call_method    y       size       size                   (%x, 0)
call_function  z       torch.neg  neg     float32[2, 3]  (%x,)
output         output  output     output  float32[2, 3]  (%z,)
)");
}

TEST(Printer, TableCutsLongArgumentsBetweenCharacters) {
  std::string long_text;
  for (int i = 0; i < 200; ++i) long_text += "é";
  const GraphModule module(
      parse_graph("%x = input()\n%y = my.func(%x, '" + long_text + "')\nreturn %y"), "Model");
  EXPECT_THAT(to_table(module), testing::HasSubstr("éé...\n"));
  EXPECT_THAT(to_text(module.graph()), testing::HasSubstr(long_text));
}

TEST(Printer, JsonHasEveryFactOfANode) {
  const auto json = nlohmann::json::parse(to_json(*small_model()));
  EXPECT_EQ(json["model"], "Model");
  ASSERT_EQ(json["nodes"].size(), 6u);
  EXPECT_EQ(json["nodes"][3], nlohmann::json::parse(R"({
    "name": "mul", "op": "call_function", "target": "torch.mul", "kind": "mul", "module_path": "",
    "args": ["%fc", "%scale"], "kwargs": {}, "inputs": ["fc", "scale"], "users": ["odd"]})"));
}

// The two graphs in the QTracer documentation of the Python Sparsebit, verbatim.
TEST(Printer, PrintsTheExampleGraphs) {
  const char* expanded = R"(graph:
    %x : [#users=1] = placeholder[target=input]
    %conv1 : [#users=1] = call_module[target=backbone.conv1](args=(%x,), kwargs={})
    %bn1 : [#users=1] = call_module[target=backbone.bn1](args=(%conv1,), kwargs={})
    %relu : [#users=1] = call_module[target=backbone.relu](args=(%bn1,), kwargs={})
    %flatten : [#users=1] = call_function[target=torch.flatten](args=(%relu, 1), kwargs={})
    %fc : [#users=1] = call_module[target=head](args=(%flatten,), kwargs={})
    return fc
)";
  const char* skipped = R"(graph:
    %x : [#users=1] = placeholder[target=input]
    %backbone : [#users=1] = call_module[target=backbone](args=(%x,), kwargs={})
    %head : [#users=1] = call_module[target=head](args=(%backbone,), kwargs={})
    return head
)";
  for (const char* text : {expanded, skipped}) EXPECT_EQ(to_text(*parse_graph(text)), text);
}

}  // namespace
}  // namespace sparsebit::fx::printer_test
