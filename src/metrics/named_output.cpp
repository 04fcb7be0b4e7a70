#include "sparsebit/metrics/named_output.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::metrics {

std::vector<NamedOutput> outputs_of_sample(const std::vector<NamedOutput>& outputs, int64_t sample,
                                           int64_t batch) {
  if (batch == 1) return outputs;  // outputs without a batch axis are allowed
  std::vector<NamedOutput> parts;
  for (const auto& [name, tensor] : outputs) {
    SPARSEBIT_CHECK(tensor.dim() > 0 && tensor.size(0) == batch, InvalidArgument, "the output '",
                    name, "' is ", tensor.sizes(), "; expected a first axis of size ", batch,
                    ", one entry per sample");
    parts.push_back({name, tensor.narrow(0, sample, 1)});
  }
  return parts;
}

std::string describe(const std::vector<NamedOutput>& outputs) {
  std::string text;
  for (const auto& [name, tensor] : outputs)
    text += c10::str(text.empty() ? "" : ", ", name, " ", tensor.sizes());
  return text;
}

}  // namespace sparsebit::metrics
