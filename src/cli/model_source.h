#pragma once

#include "sparsebit/zoo/zoo.h"

#include <cstdint>
#include <string>

namespace sparsebit::cli {

/// What the `model` argument of a command accepts, for help texts.
inline constexpr const char* kModelHelp = "Model: zoo:NAME (zoo:list prints the names)";

/// Loads what a user wrote on the command line: `zoo:resnet18`.
zoo::Example load_model(const std::string& source, uint64_t seed);

}  // namespace sparsebit::cli
