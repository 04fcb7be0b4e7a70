#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/option_values.h"
#include "cli/platform_options.h"

#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/config/qconfig.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace sparsebit::cli {

void add_config_command(CLI::App& app, std::ostream& out) {
  auto platform = std::make_shared<std::string>("onnxruntime");
  CLI::App* cmd =
      app.add_subcommand("config", "Print a platform's default quantization config (YAML)");
  cmd->add_option("platform,--platform", *platform,
                  std::string(kPlatformHelp) + ". Default: " + *platform)
      ->type_name(value_kind::kPlatform)
      ->check(known_platform);
  cmd->footer(
      "Example:\n"
      "  sparsebit config onnxruntime > qconfig.yaml");
  cmd->callback([platform, &out] {
    const auto found = platforms::find_platform(*platform);
    quant::default_qconfig(found);  // throws if the config is invalid
    out << found->config;
  });
}

}  // namespace sparsebit::cli
