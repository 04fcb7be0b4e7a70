#include "cli/application.h"

#include "cli/commands.h"

#include <CLI/CLI.hpp>

namespace sparsebit::cli {

std::unique_ptr<CLI::App> make_application(std::ostream& out) {
  auto application =
      std::make_unique<CLI::App>("Quantize and deploy neural networks.", "sparsebit");
  CLI::App& app = *application;
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
