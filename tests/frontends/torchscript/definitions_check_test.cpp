// Classes and functions of a form that torch does not write; libtorch's importer reads beyond its
// syntax tree for many of them.

#include "core/temp_dir.h"
#include "frontends/torchscript/archive_check.h"
#include "frontends/torchscript/reference.h"

#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::frontends::torchscript::definitions_check_test {
namespace {

using namespace std::string_literals;

std::string in_class(const std::string& statement, const std::string& base = "(Module)") {
  return "class M" + base + ":\n  " + statement + "\n";
}

TEST(DefinitionsCheck, WhatTorchWrites) {
  const std::vector<std::string> sound = {
      in_class("__parameters__ = []"),
      in_class("__parameters__ = [\"weight\", \"bias\", ]"),
      in_class("__buffers__ = [\"mean\", ]"),
      in_class("__forward_hooks__ = [\"hook\", ]"),
      in_class("__annotations__ = []"),
      in_class("__annotations__[\"0\"] = __torch__.torch.nn.Linear"),
      in_class("weight : Optional[Tensor]"),
      in_class("empty : Tuple[()]"),
      in_class("nothing : NoneType"),
      in_class("stride : Final[Tuple[int, int]] = (1, -1)"),
      in_class("names : Final[List[str]] = [\"a\", \"b\"]"),
      in_class("limit : Final[Optional[float]] = None"),
      in_class("most : Final[float] = inf"),
      in_class("n : int", ""),
      in_class("x : Tensor\n  n : int = 3", "(NamedTuple)"),
      in_class("RED = 1\n  BLUE = -2", "(Enum)"),
      in_class("def step(self, x: Tensor) -> Tensor:\n    pass", "(ModuleInterface)"),
      "def f(x: Tensor, d: Device=torch.device(\"cpu\"), v: List[int]=annotate(List[int], [])) -> "
      "Tensor:\n  return x[0]\n",
      "op_version_set = 1\nimport __torch__.other\ndef f() -> None:\n  return None\n",
      ""};
  for (const std::string& code : sound) EXPECT_EQ(definitions_problem(code), "") << code;
}

TEST(DefinitionsCheck, WhatTorchDoesNotWrite) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {in_class("x = 1"), "line 2: expected an attribute with its type, found 'x = 1'"},
      {in_class("x : int = 1"),
       "line 2: expected Final[...] as the type of a constant, found 'x : int = 1'"},
      {in_class("x : Final[int] = f(1)"),
       "line 2: expected a constant, found 'x : Final[int] = f(1)'"},
      {in_class("x : Final[] = 1"),
       "line 2: expected type parameters, such as List[int], found 'x : Final[] = 1'"},
      {in_class("x : 1"), "line 2: expected a type, found 'x : 1'"},
      {in_class("x : Dict[str, 1 + 2]"), "line 2: expected a type, found 'x : Dict[str, 1 + 2]'"},
      {in_class("x : \"torch.classes.none.Such\""),
       "line 2: expected a type, found 'x : \"torch.classes.none.Such\"'"},
      {in_class("x : int\n  x : int"), "line 3: expected each attribute once, found 'x : int'"},
      {in_class("x : int\n  __annotations__[\"x\"] = int"),
       "line 3: expected each attribute once, found '__annotations__[\"x\"] = int'"},
      {in_class("x.y = 1"), "line 2: expected an attribute, found 'x.y = 1'"},
      {in_class("x = y = 1"), "line 2: expected one attribute, found 'x = y = 1'"},
      {in_class("f(1)"), "line 2: expected an attribute or a method, found 'f(1)'"},
      {in_class("pass"), "line 2: expected an attribute or a method, found 'pass'"},
      {in_class("__parameters__ : int"),
       "line 2: expected a list of names in a module, found '__parameters__ : int'"},
      {in_class("__parameters__ = 1"),
       "line 2: expected a list of names in a module, found '__parameters__ = 1'"},
      {in_class("__buffers__ = [\"x\", 1]"),
       "line 2: expected a name in quotes, found '__buffers__ = [\"x\", 1]'"},
      {in_class("__parameters__ = []", ""),
       "line 2: expected a list of names in a module, found '__parameters__ = []'"},
      {in_class("__annotations__[] = int"),
       "line 2: expected __annotations__[\"name\"] = type, found '__annotations__[] = int'"},
      {in_class("__annotations__[\"0\"] : int"),
       "line 2: expected __annotations__[\"name\"] = type, found '__annotations__[\"0\"] : int'"},
      {in_class("others[\"0\"] = int"),
       "line 2: expected __annotations__[\"name\"] = type, found 'others[\"0\"] = int'"},
      {in_class("x = 1", "(NamedTuple)"),
       "line 2: expected an attribute with its type, found 'x = 1'"},
      {in_class("RED : int", "(Enum)"), "line 2: expected a name and its value, found 'RED : int'"},
      {in_class("x : int", "(Other)"),
       "line 1: expected Module, NamedTuple, Enum or an interface as base, found 'class "
       "M(Other):'"},
      {in_class("x : int", "(1)"),
       "line 1: expected Module, NamedTuple, Enum or an interface as base, found 'class M(1):'"},
      {in_class("def f() -> None:\n    return None"),
       "line 2: expected a method with self, found 'def f() -> None:'"},
      {"def f(x: Optional[]) -> None:\n  return None\n",
       "line 1: expected type parameters, such as List[int], found 'def f(x: Optional[]) -> "
       "None:'"},
      {"def f(x: Tensor=torch.zeros([99])) -> None:\n  return None\n",
       "line 1: expected a constant, found 'def f(x: Tensor=torch.zeros([99])) -> None:'"},
      {"def f(x: Tensor) -> None:\n  y = x[]\n  return None\n",
       "line 2: expected an index, found 'y = x[]'"},
      {"def f(x: Tensor) -> None:\n  y : int\n  return None\n",
       "line 2: expected a value, found 'y : int'"},
  };
  for (const auto& [code, problem] : cases) EXPECT_EQ(definitions_problem(code), problem) << code;
}

/// An archive of one module without tensors.
std::string archive(const std::filesystem::path& folder, const std::string& code) {
  std::string path = (folder / "model.pt").string();
  caffe2::serialize::PyTorchStreamWriter writer(path);
  const std::string constants = "\x80\x02)."s;
  const std::string data =
      "\x80\x02"
      "c__torch__\nM\n)\x81}(X\x08\0\0\0training\x88ub."s;
  writer.writeRecord("data.pkl", data.data(), data.size());
  writer.writeRecord("code/__torch__.py", code.data(), code.size());
  writer.writeRecord("constants.pkl", constants.data(), constants.size());
  writer.writeEndOfFile();
  return path;
}

TEST(DefinitionsCheck, ComesBeforeLibtorch) {
  const test::TempDir folder;
  const std::string rest =
      "  training : bool\n  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
      "    return torch.relu(x)\n";
  const auto import = [&](const std::string& line) {
    return testing::import_error(
        archive(folder.path(), "class M(Module):\n  " + line + "\n" + rest));
  };
  const std::string where = (folder.path() / "model.pt").string() +
                            ": record 'code/__torch__.py' is damaged: line 2: expected ";
  EXPECT_EQ(import("__parameters__ = []"), "no error");
  EXPECT_EQ(import("x = 1"), where + "an attribute with its type, found 'x = 1'");
  EXPECT_EQ(import("__parameters__ : int"),
            where + "a list of names in a module, found '__parameters__ : int'");
  EXPECT_EQ(import("def f() -> None:\n    return None"),
            where + "a method with self, found 'def f() -> None:'");
}

}  // namespace
}  // namespace sparsebit::frontends::torchscript::definitions_check_test
