// Writes what is made of the options' declarations: the texts of `--version` and `--help` as a
// header for the launcher, completion for shells, and the manual page.

#include "sparsebit/cli/cli.h"

#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

namespace {

using Arguments = std::vector<std::string>;

std::string text_of(const Arguments& entry) {
  std::vector<const char*> arguments = {"sparsebit"};
  for (const std::string& argument : entry) arguments.push_back(argument.c_str());
  std::ostringstream out;
  const int code =
      sparsebit::cli::run(static_cast<int>(arguments.size()), arguments.data(), out, std::cerr);
  if (code != 0) throw std::runtime_error("no help for " + entry.front());
  return out.str();
}

/// All ways to ask for a text.
std::vector<Arguments> entries() {
  std::vector<Arguments> all = {{"--version"}, {"-V"}, {"--help"}, {"-h"}, {"help"}};
  for (const std::string& name : sparsebit::cli::command_names())
    all.insert(all.end(), {{name, "--help"}, {name, "-h"}, {"help", name}});
  return all;
}

std::string help_texts() {
  std::ostringstream header;
  header
      << "#pragma once\n\n// Made by write_help_texts.\n\nstruct HelpText {\n"
         "  const char* first;   ///< argument\n  const char* second;  ///< empty: there is one\n"
         "  const char* text;\n};\n\nconstexpr HelpText kHelpTexts[] = {\n";
  for (const Arguments& entry : entries())
    header << "    {\"" << entry[0] << "\", \"" << (entry.size() > 1 ? entry[1] : "")
           << "\", R\"TEXT(" << text_of(entry) << ")TEXT\"},\n";
  header << "};\n";
  return header.str();
}

bool write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  return static_cast<bool>(out.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_help_texts FOLDER\n";
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/";
  const bool written = write(folder + "help_texts.h", help_texts()) &&
                       write(folder + "sparsebit.bash", sparsebit::cli::bash_completion()) &&
                       write(folder + "_sparsebit", sparsebit::cli::zsh_completion()) &&
                       write(folder + "sparsebit.1", sparsebit::cli::manual_page());
  return written ? 0 : 1;
}
