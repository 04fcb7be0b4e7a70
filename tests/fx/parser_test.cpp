#include "sparsebit/fx/parser.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/fx/printer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::parser_test {
namespace {

std::string message_of(const char* text) {
  try {
    parse_graph(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Parser, ReadsWhatThePrinterWrites) {
  const char* text = R"(graph:
    %x : [#users=2] = placeholder[target=x]
    %mask : [#users=1] = placeholder[target=mask](default=None)
    %fc_weight : [#users=1] = get_attr[target=fc.weight]
    %conv : [#users=1] = call_module[target=layer1.0.conv](args=(%x,), kwargs={})
    %f : [#users=1] = call_function[target=f](args=(%conv, [1, -2, 3.5, 1e-05], (%x,), ()), kwargs={mode: 'it\'s', dtype: torch.float32, device: cuda:1, flag: True})
    %getitem : [#users=1] = call_function[target=operator.getitem](args=(%f, (slice(None, %mask, None), ..., None)), kwargs={})
    %view : [#users=1] = call_method[target=view](args=(%getitem, tensor([[1, 2], [3, 4]], dtype=torch.int64)), kwargs={})
    %g : [#users=1] = call_function[target=g](args=(inf, -inf, nan, cpu, {a: 1}), kwargs={})
    return {out: view, rest: (fc_weight, g)}
)";
  const auto graph = parse_graph(text);
  lint(*graph);
  EXPECT_EQ(to_text(*graph), text);
}

TEST(Parser, ReadsTheShortForm) {
  const auto graph = parse_graph(R"(
      # comments and blank lines are skipped

      %x = input()
      %mask = input(None)
      %w = self.fc.weight
      %y = self.layer1.0.conv(%x, scale=2)
      %z = torch.add(%y, %w, alpha=-1)
      %v = %z.view(2, -1)
      return (%v, x))");
  EXPECT_EQ(to_text(*graph), R"(graph:
    %x : [#users=2] = placeholder[target=x]
    %mask : [#users=0] = placeholder[target=mask](default=None)
    %w : [#users=1] = get_attr[target=fc.weight]
    %y : [#users=1] = call_module[target=layer1.0.conv](args=(%x,), kwargs={scale: 2})
    %z : [#users=1] = call_function[target=torch.add](args=(%y, %w), kwargs={alpha: -1})
    %v : [#users=1] = call_method[target=view](args=(%z, 2, -1), kwargs={})
    return (v, x)
)");
}

TEST(Parser, ReadsTensorsExactly) {
  const auto graph =
      parse_graph("%f = f(tensor([9007199254740993], dtype=torch.int64))\nreturn %f");
  const at::Tensor tensor = graph->find("f")->args()[0].tensor();
  EXPECT_EQ(tensor.item<int64_t>(), 9007199254740993);
}

TEST(Parser, ErrorsNameLineAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"%x = input()\n%y = torch.neg(%z)",
       "line 2: cannot read the text at column 17; expected a name that is defined above, found "
       "'z)'"},
      {"%x = input() rest",
       "line 1: cannot read the text at column 14; expected the end of the line, found 'rest'"},
      {"x = input()",
       "line 1: cannot read the text at column 1; expected '%', found 'x = input()'"},
      {"%x = torch.neg(1",
       "line 1: cannot read the text at column 17; expected ',' or ')', found the end"},
      {"%x = torch.neg(nearest)",
       "line 1: cannot read the text at column 16; expected a value (strings are quoted), found "
       "'nearest)'"},
      {"%x = torch.neg('a)",
       "line 1: cannot read the text at column 19; expected a closing ', found the end"},
      {"%x = input()\n%x = input()",
       "'x' cannot be a node name: it is taken or reserved\n  in line 2"},
      {"%max = input()", "'max' cannot be a node name: it is taken or reserved\n  in line 1"},
      {"%x = call_module[target=a(args=())",
       "line 1: cannot read the text at column 25; expected ']', found 'a(args=())'"},
      {"%x = f(tensor(<float32[64, 3]>))",
       "line 1: cannot read the text at column 15; expected the elements of the tensor; large ones "
       "are "
       "not written out, found '<float32[64, 3]>))'"},
      {"%x = f(tensor([[1], [2, 3]], dtype=torch.int64))",
       "tensor(...) rows have unequal lengths\n  in line 1"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(message_of(text), message);
}

TEST(Parser, DeepNestingIsAnErrorNotACrash) {
  const std::string text = "%x = f(" + std::string(100000, '[') + ")";
  EXPECT_THAT(message_of(text.c_str()), testing::HasSubstr("at most 200 levels of nesting"));
}

}  // namespace
}  // namespace sparsebit::fx::parser_test
