#include "quant/observers/all_observers.h"
#include "quant/observers/dpu_observer.h"

#include <algorithm>
#include <map>

namespace sparsebit::quant {
namespace {

/// The most frequent power-of-two scale of the batches; of equally frequent ones the largest.
class PotMode : public DpuObserver {
 public:
  using DpuObserver::DpuObserver;

 private:
  void add(const at::Tensor& x) override { ++votes_[exponent_of(x)]; }
  void add_seen_by(const Observer& other) override {
    for (const auto& [e, votes] : static_cast<const PotMode&>(other).votes_) votes_[e] += votes;
  }
  int exponent() const override {
    const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
    return std::max_element(votes_.begin(), votes_.end(), fewer)->first;
  }

  std::map<int, int64_t> votes_;  // by exponent
};

}  // namespace

ObserverPtr make_pot_mode(const QuantSpec& spec, const ObserverConfig& config) {
  return std::make_unique<PotMode>(spec, config);
}

}  // namespace sparsebit::quant
