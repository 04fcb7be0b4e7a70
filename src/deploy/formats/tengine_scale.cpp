#include "deploy/formats/tengine_scale.h"

#include "deploy/format_limits.h"
#include "deploy/fused_relu.h"
#include "deploy/number_text.h"
#include "deploy/text_lines.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::deploy {

std::vector<DeployFile> write_tengine_scale(const DeployModel& model) {
  const auto fused = convolutions_before_relu(model.clean().graph());
  std::map<std::string, std::string> lines;  // by tensor
  for (const TensorRange& range :
       ranges_within(model, {.format = "tengine_scale", .weights = false, .zero_points = true})) {
    SPARSEBIT_CHECK(range.qmin == 0, Unsupported, "format 'tengine_scale': activation '",
                    range.tensor, "': expected unsigned integers, found ", range.qmin, " to ",
                    range.qmax);
    const std::string numbers = " " + number_text(range.scale.item<float>()) + " " +
                                number_text(range.zero_point.to(at::kInt).item<int>()) + "\n";
    lines.try_emplace(range.tensor, numbers);
    // A convolution that is fused with a relu gets the relu's scale and zero point.
    if (const auto it = fused.find(range.tensor); it != fused.end()) lines[it->second] = numbers;
  }
  std::string text;
  for (const auto& [tensor, numbers] : lines) text += tensor + numbers;
  return {{model.name() + "_for_tengine.scale", text}};
}

std::map<std::string, TengineRange> read_tengine_scale(const std::string& content) {
  std::map<std::string, TengineRange> found;
  for (const Words& words : words_of_lines(content)) {
    SPARSEBIT_CHECK(words.size() == 3, InvalidModel,
                    "tengine_scale: expected 'tensor scale zero_point', found ", words.size(),
                    " words");
    const TengineRange range = {float_of(words[1], "tengine_scale"),
                                static_cast<int>(number_of(words[2], "tengine_scale"))};
    SPARSEBIT_CHECK(found.emplace(words[0], range).second, InvalidModel, "tengine_scale: '",
                    words[0], "' occurs twice");
  }
  return found;
}

}  // namespace sparsebit::deploy
