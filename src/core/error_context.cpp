#include "sparsebit/core/error_context.h"

#include "sparsebit/core/memory_limit.h"

#include <fmt/format.h>
#include <yaml-cpp/exceptions.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string_view>

namespace sparsebit {
namespace {

/// Regular expressions below look at one line, which a file may have made megabytes long: their
/// matching is recursive.
constexpr size_t kLongestLine = 4000;

/// The first line with something in it. What TorchScript's interpreter says ends with the reason.
std::string message_line(std::string_view text) {
  constexpr std::string_view kTraceback = "\nRuntimeError: ";
  if (const size_t reason = text.rfind(kTraceback); reason != std::string_view::npos)
    text.remove_prefix(reason + kTraceback.size());
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return "";
  text.remove_prefix(start);
  std::string line(text.substr(0, std::min(text.find('\n'), kLongestLine)));
  line.erase(line.find_last_not_of(" \t\r") + 1);
  return line;
}

/// Without the first part up to and with `end`, where there is such a part.
void drop_up_to(std::string& line, std::string_view end) {
  const size_t at = line.find(end);
  if (at != std::string::npos) line.erase(0, at + end.size());
}

void drop_from(std::string& line, std::string_view start) {
  line.erase(std::min(line.find(start), line.size()));
}

/// Drops the places in PyTorch's sources, and its requests to report a bug.
std::string without_locations(std::string line) {
  if (line.starts_with("[enforce fail at ")) {
    drop_up_to(line, "] ");
    drop_up_to(line, ". ");  // the condition that did not hold
  }
  const bool is_assertion = line.find("INTERNAL ASSERT FAILED") != std::string::npos;
  if (is_assertion) drop_up_to(line, "please report a bug to PyTorch.");
  drop_from(line, " (Could this error message be improved?");
  drop_from(line, " This could be because the operator doesn't exist for this backend");
  static const std::regex location(
      R"( ?\(?(Exception raised )?\b(at|from|in) \S*\.(cpp|cc|cu|h|hpp)["']?(:|, line )\d+\)?:?)");
  line = std::regex_replace(line, location, "");
  line.erase(0, std::min(line.find_first_not_of(" .,:"), line.size()));
  line.erase(line.find_last_not_of(" \n") + 1);
  return is_assertion && line.empty() ? "an internal check of it failed" : line;
}

/// Of tensors that no machine can hold, said without PyTorch's names.
std::optional<std::string> memory_text(const std::string& line) {
  static const std::regex allocation("can't allocate memory: you tried to allocate (\\d+) bytes");
  std::smatch found;
  if (std::regex_search(line, found, allocation))
    return fmt::format("not enough memory for a tensor of {:.4g} GB", std::stod(found[1]) / 1e9);
  const bool overflow =
      line.find("overflow") != std::string::npos &&
      (line.find("numel") != std::string::npos || line.find("Storage size") != std::string::npos);
  if (overflow) return "the tensor has too many elements";
  return std::nullopt;
}

std::string text_of(const std::filesystem::filesystem_error& e) {
  std::string action = e.what();
  drop_up_to(action, "filesystem error: ");
  drop_from(action, ": " + e.code().message());
  std::string paths = e.path1().string();
  if (!e.path2().empty()) paths += ", " + e.path2().string();
  return (paths.empty() ? "" : paths + ": ") + action + ": " + e.code().message();
}

std::string text_of(const YAML::Exception& e) {
  const std::string text = "not valid YAML: " + e.msg;
  if (e.mark.is_null()) return text;
  return fmt::format("line {}, column {}: {}", e.mark.line + 1, e.mark.column + 1, text);
}

/// Of the C++ library and the small ones, by their types.
std::optional<std::string> library_text(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e))
    return fmt::format("not enough memory; the limit is {}, and {} are in use; {} sets it",
                       bytes_text(static_cast<double>(memory_limit())),
                       bytes_text(static_cast<double>(memory_in_use())), kMemoryOption);
  if (const auto* files = dynamic_cast<const std::filesystem::filesystem_error*>(&e))
    return text_of(*files);
  if (const auto* yaml = dynamic_cast<const YAML::Exception*>(&e)) return text_of(*yaml);
  if (dynamic_cast<const std::regex_error*>(&e))
    return "not a valid regular expression: " + std::string(e.what());
  const std::string_view text = e.what();
  if (dynamic_cast<const std::length_error*>(&e) && text.find("::") != std::string_view::npos)
    return "not enough memory: a size is too large";
  constexpr std::string_view kJson = "[json.exception.";
  const size_t end = text.find("] ");
  if (text.starts_with(kJson) && end != std::string_view::npos) {
    const bool is_syntax = text.starts_with("[json.exception.parse_error");
    return (is_syntax ? "not valid JSON: " : "") + message_line(text.substr(end + 2));
  }
  return std::nullopt;
}

/// The reason alone, and whether it still speaks of PyTorch's own rules.
struct Reason {
  std::string text;
  bool is_of_torch = false;
};

Reason found_reason(const std::exception& e) {
  if (dynamic_cast<const Error*>(&e)) return {e.what()};
  if (const auto text = library_text(e)) return {*text};
  const auto* torch = dynamic_cast<const c10::Error*>(&e);
  const std::string line =
      without_locations(message_line(torch ? torch->what_without_backtrace() : e.what()));
  if (const auto text = memory_text(line)) return {*text};
  return {line.empty() ? "no reason given" : line, torch != nullptr};
}

}  // namespace

std::string reason_of(const std::exception& e) { return found_reason(e).text; }

std::string message_of(const std::exception& e) {
  const Reason reason = found_reason(e);
  return (reason.is_of_torch ? "PyTorch refused this: " : "") + reason.text;
}

ErrorKind kind_of(const std::exception& e) {
  if (const auto* error = dynamic_cast<const Error*>(&e)) return error->kind();
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&e) != nullptr ||
                         memory_text(without_locations(message_line(e.what())));
  return is_memory ? ErrorKind::TooLarge : ErrorKind::InvalidArgument;
}

Error with_prefix(const std::string& prefix, const Error& error, ErrorKind kind) {
  const Error without_frames(error.kind(), error.details());
  Error result(kind, prefix + without_frames.what());
  for (const std::string& frame : error.context()) result.add_context(frame);
  return result;
}

}  // namespace sparsebit
