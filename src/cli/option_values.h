#pragma once

#include <string>
#include <vector>

namespace CLI {
class Option;
}

namespace sparsebit::cli {

/// Kinds of option values: type_name() of an option's declaration. --help prints them, and shells
/// complete them. Values of any other type name are free text.
namespace value_kind {
inline constexpr const char* kFile = "FILE";
inline constexpr const char* kFolder = "FOLDER";
inline constexpr const char* kPath = "PATH";          ///< file or folder
inline constexpr const char* kModel = "MODEL";        ///< file, or zoo:NAME
inline constexpr const char* kPlatform = "PLATFORM";  ///< name or file
inline constexpr const char* kPreset = "PRESET";      ///< preprocessing preset, or "list"
inline constexpr const char* kPresetOrFile = "PRESET|FILE";
inline constexpr const char* kPass = "PASS";
inline constexpr const char* kArtefactFormat = "FORMAT";
}  // namespace value_kind

/// Completions of an option's or argument's value.
struct OptionValues {
  std::vector<std::string> words;
  bool is_file = false;   ///< a file or folder, besides the words
  bool is_model = false;  ///< a file, or zoo:NAME
};

bool takes_value(const CLI::Option& option);

/// Empty for numbers and free text.
OptionValues option_values(const CLI::Option& option);

/// "--format" and "-f" for options, in the order of declaration; none for arguments.
std::vector<std::string> names_of(const CLI::Option& option);

}  // namespace sparsebit::cli
