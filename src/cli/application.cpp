#include "cli/application.h"

#include "cli/commands.h"

#include <CLI/CLI.hpp>

#include <sstream>

namespace sparsebit::cli {
namespace {

/// Lines of at most `columns` characters, broken at spaces.
std::string wrapped(const std::string& text, size_t columns) {
  std::istringstream words(text);
  std::string lines, word;
  size_t column = 0;
  while (words >> word) {
    const bool fits = column + 1 + word.size() <= columns;
    if (column > 0) lines += fits ? ' ' : '\n';
    column = (column > 0 && fits ? column + 1 : 0) + word.size();
    lines += word;
  }
  return lines;
}

/// CLI11 does not break the descriptions of options into lines.
class WrappingFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr size_t kLineWidth = 100;
    return wrapped(option->get_description(), kLineWidth - get_column_width());
  }
};

}  // namespace

std::unique_ptr<CLI::App> make_application(std::ostream& out) {
  auto application =
      std::make_unique<CLI::App>("Quantize and deploy neural networks.", "sparsebit");
  CLI::App& app = *application;
  app.formatter(std::make_shared<WrappingFormatter>());  // subcommands inherit it
  app.set_version_flag("-V,--version", "sparsebit " SPARSEBIT_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  sparsebit inspect zoo:resnet18\n  sparsebit run model.onnx --input x=in.npy\n"
      "  sparsebit convert model.pt -o model.onnx --shape x=1x3x224x224\n"
      "  sparsebit quantize model.onnx --data images/ --preprocess imagenet -o model.int8.onnx\n\n"
      "Run 'sparsebit COMMAND --help' for the options of a command.");
  add_inspect_command(app, out);
  add_run_command(app, out);
  add_convert_command(app, out);
  add_data_command(app, out);
  add_config_command(app, out);
  add_quantize_command(app, out);
  add_certify_command(app, out);
  add_analyze_command(app, out);
  add_eval_command(app, out);
  add_deploy_command(app, out);
  add_platforms_command(app, out);
  return application;
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

}  // namespace sparsebit::cli
