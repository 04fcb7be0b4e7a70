#pragma once

#include "core/descriptor.h"

#include <map>
#include <string>
#include <vector>

namespace sparsebit {

/// A program that runs, and our ends of its standard streams.
struct SpawnedProcess {
  int pid = -1;
  Descriptor socket;  ///< writes to its standard input and reads its standard output
  Descriptor errors;  ///< reads its standard error, without waiting
};

/// Starts a program that the kernel kills when the calling thread ends, however that ends.
/// @param command      program, looked up in PATH, and its arguments.
/// @param environment  variables set in addition to this process's own.
/// Throws Io when it cannot be started.
SpawnedProcess spawn(const std::vector<std::string>& command,
                     const std::map<std::string, std::string>& environment);

}  // namespace sparsebit
