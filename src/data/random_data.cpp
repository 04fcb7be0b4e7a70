#include "sparsebit/data/random_data.h"

#include "data/text_samples.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/random.h"
#include "sparsebit/data/guess_preprocess.h"
#include "sparsebit/data/image_input.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>

namespace sparsebit::data {
namespace {

using Draw = std::function<at::Tensor(at::Generator)>;

class RandomDataset : public io::Dataset {
 public:
  RandomDataset(int64_t size, Random random, Draw draw)
      : size_(size), random_(std::move(random)), draw_(std::move(draw)) {}

  int64_t size() const override { return size_; }
  bool has_labels() const override { return false; }
  std::string describe() const override { return "random numbers"; }

  io::Sample get(int64_t index) const override {
    const std::string name = std::to_string(index);
    return {.data = draw_(random_.fork(name).generator()), .name = "random " + name};
  }

 private:
  int64_t size_;
  Random random_;
  Draw draw_;
};

/// Neighbouring pixels of natural images are similar: upsampled coarse noise plus a little pixel
/// noise.
Draw image_noise(int64_t channels, int64_t height, int64_t width) {
  return [=](at::Generator random) {
    const at::Tensor coarse = at::rand({1, channels, 7, 7}, random, at::kFloat) * 255;
    const at::Tensor fine = at::randn({channels, height, width}, random, at::kFloat) * 16;
    const at::Tensor smooth = at::upsample_bilinear2d(coarse, {height, width}, false).squeeze(0);
    return (smooth + fine).round().clamp(0, 255).to(at::kByte);
  };
}

/// Sizes of one sample.
std::vector<int64_t> sample_sizes(const InputSpec& input) {
  constexpr int64_t kTokens = 32;
  SPARSEBIT_CHECK(input.info, InvalidArgument, "the shape of the input '", input.name,
                  "' is unknown, so no random data can be generated; give --shape ", input.name,
                  "=1x3x224x224");
  std::vector<int64_t> sizes = input.info->shape;
  if (!sizes.empty()) sizes.erase(sizes.begin());
  for (int64_t& size : sizes) {
    if (size >= 0) continue;
    SPARSEBIT_CHECK(token_role(input.name), InvalidArgument, "the input '", input.name,
                    "' has dynamic sizes; give --shape ", input.name, "=1x3x224x224");
    size = kTokens;
  }
  return sizes;
}

Draw numbers(const InputSpec& input, const ModelFacts& facts) {
  const std::vector<int64_t> sizes = sample_sizes(input);
  const at::ScalarType type = input.info->dtype;
  if (at::isFloatingType(type))
    return [=](at::Generator random) { return at::randn(sizes, random, at::kFloat).to(type); };
  const auto role = token_role(input.name);
  if (type == at::kBool || role == TokenRole::Mask)
    return [=](const at::Generator&) { return at::ones(sizes, type); };
  if (role == TokenRole::Positions)
    return [=](const at::Generator&) {
      return at::arange(sizes.empty() ? 1 : sizes.back(), type).expand(sizes).contiguous();
    };
  const auto rows = facts.table_rows.find(input.name);
  const int64_t most = rows == facts.table_rows.end() ? 2 : rows->second;
  return [=](at::Generator random) {
    return at::empty(sizes, at::kLong).random_(0, most, random).to(type);
  };
}

InputFeed random_feed(const InputSpec& input, const ModelFacts& facts, int64_t count,
                      const Random& random) {
  constexpr int64_t kSide = 224;
  InputFeed feed{.input = input.name, .samples = nullptr};
  const std::optional<ImageInput> image = input.info ? image_input(input) : std::nullopt;
  Draw draw;
  if (image) {
    const PreprocessGuess guess = guess_preprocess(facts, input);
    feed.preprocess = guess.settings;
    feed.preset = guess.preset;
    feed.guessed_from = guess.because;
    const auto side = [&](int64_t size) { return size > 0 ? size : kSide; };
    draw = image_noise(image->channels > 0 ? image->channels : 3, side(image->height),
                       side(image->width));
  } else {
    draw = numbers(input, facts);
  }
  feed.samples = std::make_shared<RandomDataset>(count, random.fork(input.name), std::move(draw));
  return feed;
}

}  // namespace

ModelData random_data(const ModelFacts& facts, int64_t count, uint64_t seed) {
  for (const InputSpec& input : facts.inputs) {
    const int64_t batch = input.info && !input.info->shape.empty() ? input.info->shape[0] : -1;
    if (batch > 0) count = (count + batch - 1) / batch * batch;
  }
  const Random random = Random(seed).fork("random data");
  std::vector<InputFeed> feeds;
  for (const InputSpec& input : facts.inputs) {
    if (input.has_default && !input.info) continue;
    feeds.push_back(random_feed(input, facts, count, random));
  }
  return ModelData(facts.inputs, std::move(feeds));
}

}  // namespace sparsebit::data
