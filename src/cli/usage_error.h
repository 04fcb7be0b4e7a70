#pragma once

#include "sparsebit/core/error.h"

#include <string>
#include <utility>

namespace sparsebit::cli {

/// Something on the command line that is wrong whatever the model is: exit code 2.
class UsageError : public Error {
 public:
  explicit UsageError(std::string what) : Error(ErrorKind::InvalidArgument, std::move(what)) {}
};

}  // namespace sparsebit::cli
