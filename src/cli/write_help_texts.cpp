// Writes the texts of `--version` and `--help` as a header for the launcher.

#include "sparsebit/cli/cli.h"

#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

namespace {

struct Entry {
  std::string arguments;
  bool is_command;
};

std::string text_of(const Entry& entry) {
  std::vector<const char*> arguments = {"sparsebit", entry.arguments.c_str()};
  if (entry.is_command) arguments.push_back("--help");
  std::ostringstream out;
  const int code =
      sparsebit::cli::run(static_cast<int>(arguments.size()), arguments.data(), out, std::cerr);
  if (code != 0) throw std::runtime_error("no help for " + entry.arguments);
  return out.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_help_texts HEADER\n";
    return 2;
  }
  std::vector<Entry> entries = {{"--version", false}, {"--help", false}, {"-h", false}};
  for (const std::string& name : sparsebit::cli::command_names()) entries.push_back({name, true});
  std::ofstream header(argv[1]);
  header << "#pragma once\n\n// Made by write_help_texts.\n\nstruct HelpText {\n"
            "  const char* arguments;\n  bool is_command;  ///< followed by --help\n"
            "  const char* text;\n};\n\nconstexpr HelpText kHelpTexts[] = {\n";
  for (const Entry& entry : entries)
    header << "    {\"" << entry.arguments << "\", " << (entry.is_command ? "true" : "false")
           << ", R\"TEXT(" << text_of(entry) << ")TEXT\"},\n";
  header << "};\n";
  return header.flush() ? 0 : 1;
}
