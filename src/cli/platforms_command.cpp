#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/platform_options.h"

#include "sparsebit/deploy/artefact_format.h"
#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/config/qconfig.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace sparsebit::cli {
namespace {

struct PlatformsOptions {
  std::string show;
  bool json = false;
};

std::string as_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& name : platforms::platforms().names()) {
    const platforms::Platform& platform = *platforms::platforms().get(name);
    list.push_back(
        {{"name", name}, {"summary", platform.summary}, {"deploys", platform.artefacts}});
  }
  return list.dump(2) + "\n";
}

std::string as_text() {
  size_t width = 0;
  for (const std::string& name : platforms::platforms().names())
    width = std::max(width, name.size());
  std::string text;
  for (const std::string& name : platforms::platforms().names())
    text += fmt::format("{:<{}}  {}\n", name, width, platforms::platforms().get(name)->summary);
  return text;
}

}  // namespace

void add_platforms_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<PlatformsOptions>();
  CLI::App* cmd =
      app.add_subcommand("platforms", "List the platforms (deployment targets), or print one");
  CLI::Option* show =
      cmd->add_option("name,--show", options->show, "Print a platform as YAML, to copy and edit");
  show->type_name(value_kind::kPlatform)->check(known_platform);
  cmd->add_flag("--json", options->json, "Print the list as JSON")->excludes(show);
  cmd->footer(
      "Example:\n"
      "  sparsebit platforms --show snpe > my.yaml    # edit it, then: quantize --platform "
      "my.yaml");
  cmd->callback([options, &out] {
    if (!options->show.empty()) {
      const auto platform = platforms::find_platform(options->show);
      quant::default_qconfig(platform);  // throws if the platform or its config is invalid
      for (const std::string& format : platform->artefacts) deploy::artefact_formats().get(format);
      out << platform->text;
    } else {
      out << (options->json ? as_json() : as_text());
    }
  });
}

}  // namespace sparsebit::cli
