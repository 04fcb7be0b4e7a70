#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sparsebit::cli {

/// What can stand as the value of an option or of an argument, for completion by a shell.
struct OptionValues {
  std::vector<std::string> words;
  bool is_file = false;   ///< a file or folder, instead of a word or beside them
  bool is_model = false;  ///< a file, or zoo:NAME
};

bool takes_value(const CLI::Option& option);

/// Nothing for numbers and free text.
OptionValues option_values(const CLI::App& command, const CLI::Option& option);

/// "--format" and "-f" for options, in the order of declaration; none for arguments.
std::vector<std::string> names_of(const CLI::Option& option);

}  // namespace sparsebit::cli
