#include "sparsebit/fx/naming.h"

#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

namespace sparsebit::fx {
namespace {

// What torch.fx refuses as a node name: Python's keywords and builtins, and names its generated
// code uses itself.
const std::unordered_set<std::string>& reserved_names() {
  // clang-format off
  static const std::unordered_set<std::string> names = {
      "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "BaseExceptionGroup",
      "BlockingIOError", "BrokenPipeError", "BufferError", "BytesWarning", "ChildProcessError",
      "ConnectionAbortedError", "ConnectionError", "ConnectionRefusedError",
      "ConnectionResetError", "DeprecationWarning", "EOFError", "Ellipsis", "EncodingWarning",
      "EnvironmentError", "Exception", "ExceptionGroup", "False", "FileExistsError",
      "FileNotFoundError", "FloatingPointError", "FutureWarning", "GeneratorExit", "IOError",
      "ImportError", "ImportWarning", "IndentationError", "IndexError", "InterruptedError",
      "IsADirectoryError", "KeyError", "KeyboardInterrupt", "LookupError", "MemoryError",
      "ModuleNotFoundError", "NameError", "None", "NotADirectoryError", "NotImplemented",
      "NotImplementedError", "OSError", "OverflowError", "PendingDeprecationWarning",
      "PermissionError", "ProcessLookupError", "RecursionError", "ReferenceError",
      "ResourceWarning", "RuntimeError", "RuntimeWarning", "StopAsyncIteration", "StopIteration",
      "SyntaxError", "SyntaxWarning", "SystemError", "SystemExit", "TabError", "TimeoutError",
      "True", "TypeError", "UnboundLocalError", "UnicodeDecodeError", "UnicodeEncodeError",
      "UnicodeError", "UnicodeTranslateError", "UnicodeWarning", "UserWarning", "ValueError",
      "Warning", "ZeroDivisionError", "__build_class__", "__debug__", "__doc__", "__import__",
      "__loader__", "__name__", "__package__", "__spec__", "abs", "aiter", "all", "and", "anext",
      "any", "as", "ascii", "assert", "async", "await", "bin", "bool", "break", "breakpoint",
      "bytearray", "bytes", "callable", "chr", "class", "classmethod", "compile", "complex",
      "continue", "copyright", "credits", "def", "del", "delattr", "dict", "dir", "divmod", "elif",
      "else", "enumerate", "eval", "except", "exec", "exit", "filter", "finally", "float", "for",
      "format", "from", "frozenset", "getattr", "global", "globals", "hasattr", "hash", "help",
      "hex", "id", "if", "import", "in", "input", "int", "is", "isinstance", "issubclass", "iter",
      "lambda", "len", "license", "list", "locals", "map", "max", "memoryview", "min", "next",
      "nonlocal", "not", "object", "oct", "open", "or", "ord", "pass", "pow", "print", "property",
      "quit", "raise", "range", "repr", "return", "reversed", "round", "set", "setattr", "slice",
      "sorted", "staticmethod", "str", "sum", "super", "try", "tuple", "type", "vars", "while",
      "with", "yield", "zip", "inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree",
  };
  // clang-format on
  return names;
}

bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)); }
bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)); }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool is_identifier_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string snake_case(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && is_upper(text[i]) && is_lower(text[i - 1])) result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
  }
  return result;
}

std::string to_identifier(std::string_view text) {
  std::string result;
  bool in_illegal_run = false;
  for (const char c : text) {
    const bool legal = is_identifier_char(c);
    if (legal || !in_illegal_run) result += legal ? c : '_';
    in_illegal_run = !legal;
  }
  if (result.empty() || is_digit(result[0])) result.insert(result.begin(), '_');
  return result;
}

/// Splits "relu_12" into "relu" and 12.
std::pair<std::string, std::optional<int64_t>> split_suffix(const std::string& name) {
  size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  const bool has_suffix = digits < name.size() && digits > 0 && name[digits - 1] == '_';
  constexpr size_t kMostDigits = 15;  // longer ones are part of the name; no counter gets there
  int64_t number = 0;
  if (!has_suffix || name.size() - digits > kMostDigits ||
      std::from_chars(name.data() + digits, name.data() + name.size(), number).ec != std::errc()) {
    return {name, std::nullopt};
  }
  return {name.substr(0, digits - 1), number};
}

}  // namespace

std::string name_from_function(std::string_view target) {
  std::string_view name = target.substr(target.rfind('.') + 1);
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) {
    name = name.substr(2, name.size() - 4);
  }
  return snake_case(name);
}

std::string name_from_path(std::string_view target) { return snake_case(target); }

/// The first number from `number` on that is not taken. Compresses the path for the next search, so
/// that repeated requests of one name take constant time each.
int64_t Namespace::free_number(NextNumber& next, int64_t number) {
  int64_t free = number;
  for (auto it = next.find(free); it != next.end(); it = next.find(free)) free = it->second;
  for (auto it = next.find(number); it != next.end(); it = next.find(number)) {
    number = std::exchange(it->second, free);
  }
  return free;
}

std::string Namespace::unique(std::string_view candidate) {
  std::string name = to_identifier(candidate);
  const auto [base, suffix] = split_suffix(name);
  int64_t number = suffix.value_or(0);
  if (suffix) name = base + "_" + std::to_string(number);
  NextNumber& next = next_by_base_[base];
  while (used_.contains(name) || reserved_names().contains(name)) {
    number = free_number(next, number + 1);
    name = base + "_" + std::to_string(number);
    next.emplace(number, number + 1);
  }
  if (suffix) next.emplace(number, number + 1);
  used_.insert(name);
  return name;
}

}  // namespace sparsebit::fx
