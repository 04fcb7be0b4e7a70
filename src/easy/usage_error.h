#pragma once

#include "sparsebit/core/error.h"

#include <string>
#include <utility>

namespace sparsebit::easy {

/// An error on the command line that does not depend on the model: exit code 2.
class UsageError : public Error {
 public:
  explicit UsageError(std::string what) : Error(ErrorKind::InvalidArgument, std::move(what)) {}
};

}  // namespace sparsebit::easy
