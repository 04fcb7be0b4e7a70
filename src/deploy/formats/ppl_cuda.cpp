#include "deploy/formats/ppl_cuda.h"

#include "deploy/format_limits.h"
#include "deploy/number_text.h"
#include "deploy/text_lines.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::deploy {

std::vector<DeployFile> write_ppl_cuda(const DeployModel& model) {
  std::string text;
  for (const TensorRange& range :
       ranges_within(model, {.format = "ppl_cuda", .weights = false, .zero_points = true}))
    text += range.tensor + ": " + number_text(range.largest().item<double>()) + "\n";
  return {{model.name() + "_ppl_cuda.txt", text}};
}

std::map<std::string, double> read_ppl_cuda(const std::string& content) {
  std::map<std::string, double> found;
  for (const Words& words : words_of_lines(content)) {
    SPARSEBIT_CHECK(words.size() == 2 && words[0].ends_with(":"), InvalidModel,
                    "ppl_cuda: expected 'tensor: number', found '", words[0], "'");
    found[words[0].substr(0, words[0].size() - 1)] = number_of(words[1], "ppl_cuda");
  }
  return found;
}

}  // namespace sparsebit::deploy
