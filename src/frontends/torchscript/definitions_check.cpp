// Checks the definitions in a code record. libtorch's importer expects the forms that torch writes
// without checking, and reads beyond the syntax tree when a part is missing.

#include "frontends/torchscript/archive_check.h"

#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/parser.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>

namespace sparsebit::frontends::torchscript {
namespace {

namespace jit = torch::jit;

/// Thrown out of the walk and caught below.
struct Problem {
  std::string text;
};

[[noreturn]] void fail(const jit::TreeView& place, const std::string& rule) {
  constexpr size_t kMostShown = 80;
  const jit::SourceRange& range = place.range();
  const size_t line = range.source()->lineno_for_offset(range.start());
  std::string found = range.source()->get_line(line).str();
  found.erase(0, found.find_first_not_of(' '));
  found.erase(found.find_last_not_of(" \n") + 1);
  if (found.size() > kMostShown) found = found.substr(0, kMostShown) + "...";
  throw Problem{c10::str("line ", line + 1, ": ", rule, ", found '", found, "'")};
}

bool is_variable(const jit::TreeRef& tree, const std::string& name) {
  return tree->kind() == jit::TK_VAR && jit::Var(tree).name().name() == name;
}

/// `Tensor`, `__torch__.Net`
bool is_type_name(const jit::Expr& type) {
  if (type.kind() == '.') return is_type_name(jit::Select(type).value());
  return type.kind() == jit::TK_VAR;
}

void check_type(const jit::Expr& type) {
  if (is_type_name(type) || type.kind() == jit::TK_NONE || type.kind() == jit::TK_NONE_TYPE) return;
  if (type.kind() != jit::TK_SUBSCRIPT) fail(type, "expected a type");
  const jit::Subscript generic(type);
  if (!is_type_name(generic.value())) fail(type, "expected a type");
  const auto parts = generic.subscript_exprs();
  if (parts.empty()) fail(type, "expected type parameters, such as List[int]");
  const bool is_tuple = is_variable(generic.value().tree(), "Tuple");
  for (const jit::Expr& part : parts) {
    const bool is_empty_tuple = is_tuple && parts.size() == 1 &&
                                part.kind() == jit::TK_TUPLE_LITERAL &&
                                jit::TupleLiteral(part).inputs().empty();
    if (!is_empty_tuple) check_type(part);
  }
}

bool is_constant(const jit::TreeRef& tree);

bool are_constants(const jit::TreeList& trees) {
  return std::all_of(trees.begin(), trees.end(), is_constant);
}

/// `annotate(List[int], [])`, `torch.device("cpu")`
bool is_constant_call(const jit::Apply& call) {
  if (!call.attributes().empty()) return false;
  const jit::Expr callee = call.callee();
  const jit::TreeList& inputs = call.inputs().tree()->trees();
  if (is_variable(callee.tree(), "annotate")) {
    if (inputs.size() != 2) return false;
    check_type(jit::Expr(inputs[0]));
    return is_constant(inputs[1]);
  }
  const bool is_device = callee.kind() == '.' &&
                         is_variable(jit::Select(callee).value().tree(), "torch") &&
                         jit::Select(callee).selector().name() == "device";
  return is_device && inputs.size() == 1 && inputs[0]->kind() == jit::TK_STRINGLITERAL;
}

/// Expressions that run while the file is read must be constants, not computations.
bool is_constant(const jit::TreeRef& tree) {
  switch (tree->kind()) {
    case jit::TK_CONST:
    case jit::TK_STRINGLITERAL:
    case jit::TK_TRUE:
    case jit::TK_FALSE:
    case jit::TK_NONE:
      return true;
    case jit::TK_VAR:  // `inf`, `nan`
      return true;
    case '.':  // a value of an enumeration
      return is_type_name(jit::Expr(tree));
    case jit::TK_UNARY_MINUS:
    case jit::TK_TUPLE_LITERAL:
    case jit::TK_LIST_LITERAL:
    case jit::TK_DICT_LITERAL:
    case jit::TK_LIST:
      return are_constants(tree->trees());
    case jit::TK_APPLY:
      return is_constant_call(jit::Apply(tree));
    default:
      return false;
  }
}

void check_constant(const jit::Expr& value) {
  if (!is_constant(value.tree())) fail(value, "expected a constant");
}

void check_declaration(const jit::Def& function, bool is_method) {
  const jit::Decl declaration = function.decl();
  if (is_method && declaration.params().empty()) fail(function, "expected a method with self");
  for (const jit::Param& parameter : declaration.params()) {
    if (parameter.type().present()) check_type(parameter.type().get());
    if (parameter.defaultValue().present()) check_constant(parameter.defaultValue().get());
  }
  if (declaration.return_type().present()) check_type(declaration.return_type().get());
}

/// Types inside of functions.
void check_body(const jit::TreeRef& tree) {
  if (tree->kind() == jit::TK_ASSIGN) {
    const jit::Assign assign(tree);
    if (!assign.rhs().present()) fail(assign, "expected a value");
    if (assign.type().present()) check_type(assign.type().get());
  } else if (tree->kind() == jit::TK_SUBSCRIPT) {
    const jit::Subscript subscript(tree);
    if (subscript.subscript_exprs().empty()) fail(subscript, "expected an index");
  } else if (tree->kind() == jit::TK_DEF) {
    check_declaration(jit::Def(tree), false);
  }
  for (const jit::TreeRef& part : tree->trees()) check_body(part);
}

void check_function(const jit::Def& function, bool is_method) {
  check_declaration(function, is_method);
  check_body(function.statements().tree());
}

/// The statements of one class.
class ClassCheck {
 public:
  explicit ClassCheck(const jit::ClassDef& definition) : definition_(definition) {
    if (!definition.superclass().present()) return;
    const jit::Expr base = definition.superclass().get();
    for (const char* known : {"Module", "NamedTuple", "Enum", "Interface", "ModuleInterface"}) {
      if (is_variable(base.tree(), known)) base_ = known;
    }
    if (base_.empty()) fail(base, "expected Module, NamedTuple, Enum or an interface as base");
  }

  void run() {
    for (const jit::Stmt& statement : definition_.body()) {
      if (statement.kind() == jit::TK_DEF) {
        check_function(jit::Def(statement), true);
      } else if (statement.kind() == jit::TK_ASSIGN) {
        assignment(jit::Assign(statement));
      } else {
        fail(statement, "expected an attribute or a method");
      }
    }
  }

 private:
  void assignment(const jit::Assign& assign) {
    if (assign.lhs_list().size() != 1) fail(assign, "expected one attribute");
    const jit::Expr target = assign.lhs();
    if (target.kind() == jit::TK_SUBSCRIPT) return annotation(assign, jit::Subscript(target));
    if (target.kind() != jit::TK_VAR) fail(assign, "expected an attribute");
    const std::string name = jit::Var(target).name().name();
    constexpr std::array kLists = {"__parameters__", "__buffers__", "__forward_pre_hooks__",
                                   "__forward_hooks__"};
    if (std::find(kLists.begin(), kLists.end(), name) != kLists.end()) return names(assign);
    if (name == "__annotations__") return;  // only says that there are some
    claim(assign, name);
    if (base_ == "Enum") return enumerator(assign);
    attribute(assign);
  }

  /// `__parameters__ = ["weight", "bias", ]`
  void names(const jit::Assign& assign) {
    const bool is_list = base_ == "Module" && !assign.type().present() && assign.rhs().present() &&
                         assign.rhs().get().kind() == jit::TK_LIST_LITERAL;
    if (!is_list) fail(assign, "expected a list of names in a module");
    for (const jit::Expr& name : jit::ListLiteral(assign.rhs().get()).inputs()) {
      if (name.kind() != jit::TK_STRINGLITERAL) fail(name, "expected a name in quotes");
    }
  }

  /// `__annotations__["0"] = Tensor`
  void annotation(const jit::Assign& assign, const jit::Subscript& target) {
    const jit::TreeList& names = target.subscript_exprs().tree()->trees();
    const bool is_sound = is_variable(target.value().tree(), "__annotations__") &&
                          names.size() == 1 && names[0]->kind() == jit::TK_STRINGLITERAL &&
                          !assign.type().present() && assign.rhs().present();
    if (!is_sound) fail(assign, "expected __annotations__[\"name\"] = type");
    claim(assign, jit::StringLiteral(names[0]).text());
    check_type(assign.rhs().get());
  }

  /// `RED = 1`
  void enumerator(const jit::Assign& assign) {
    if (assign.type().present() || !assign.rhs().present())
      fail(assign, "expected a name and its value");
    check_constant(assign.rhs().get());
  }

  /// `weight : Tensor`, `stride : Final[int] = 2`; in a NamedTuple `x : int = 2`, too
  void attribute(const jit::Assign& assign) {
    if (!assign.type().present()) fail(assign, "expected an attribute with its type");
    const jit::Expr type = assign.type().get();
    check_type(type);
    if (!assign.rhs().present()) return;
    const bool is_final = type.kind() == jit::TK_SUBSCRIPT &&
                          is_variable(jit::Subscript(type).value().tree(), "Final") &&
                          jit::Subscript(type).subscript_exprs().size() == 1;
    if (!is_final && base_ != "NamedTuple")
      fail(assign, "expected Final[...] as the type of a constant");
    check_constant(assign.rhs().get());
  }

  void claim(const jit::Assign& assign, const std::string& name) {
    if (!names_.insert(name).second) fail(assign, "expected each attribute once");
  }

  jit::ClassDef definition_;
  std::string base_;
  std::set<std::string> names_;
};

/// The header of older versions of torch: `op_version_set = 1`; lines of imports follow.
void skip_header(jit::Lexer& lexer) {
  if (lexer.cur().kind == jit::TK_IDENT && lexer.cur().text() == "op_version_set") {
    lexer.next();
    for (const int kind : {int{'='}, int{jit::TK_NUMBER}, int{jit::TK_NEWLINE}}) lexer.expect(kind);
  }
}

void skip_imports(jit::Lexer& lexer) {
  while (lexer.nextIf(jit::TK_IMPORT)) {
    while (lexer.cur().kind != jit::TK_NEWLINE && lexer.cur().kind != jit::TK_EOF) lexer.next();
    lexer.expect(jit::TK_NEWLINE);
  }
}

}  // namespace

std::string definitions_problem(std::string_view code) {
  jit::Parser parser(std::make_shared<jit::Source>(std::string(code)));
  jit::Lexer& lexer = parser.lexer();
  skip_header(lexer);
  try {
    for (skip_imports(lexer); lexer.cur().kind != jit::TK_EOF; skip_imports(lexer)) {
      if (lexer.cur().kind == jit::TK_CLASS_DEF) {
        ClassCheck(jit::ClassDef(parser.parseClass())).run();
      } else {
        check_function(jit::Def(parser.parseFunction(false)), false);
      }
    }
  } catch (const Problem& problem) {
    return problem.text;
  }
  return {};
}

}  // namespace sparsebit::frontends::torchscript
