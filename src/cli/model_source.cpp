#include "cli/model_source.h"

#include "sparsebit/core/error.h"

namespace sparsebit::cli {

zoo::Example load_model(const std::string& source, uint64_t seed) {
  constexpr std::string_view kZoo = "zoo:";
  SPARSEBIT_CHECK(
      source.starts_with(kZoo), Unsupported, "cannot read '", source,
      "': this version reads built-in models only, written zoo:NAME, such as zoo:resnet18");
  return zoo::make(std::string_view(source).substr(kZoo.size()), seed);
}

}  // namespace sparsebit::cli
