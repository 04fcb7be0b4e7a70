#include "sparsebit/export/certificate.h"

#include <algorithm>

namespace sparsebit::exports {
namespace {

QualityLevel level_of(double value, double useless, double degraded) {
  if (!(value >= useless)) return QualityLevel::Useless;  // NaN, too
  return value >= degraded ? QualityLevel::Good : QualityLevel::Degraded;
}

}  // namespace

std::string to_string(QualityLevel level) {
  switch (level) {
    case QualityLevel::Good:
      return "good";
    case QualityLevel::Degraded:
      return "degraded";
    case QualityLevel::Useless:
      return "useless";
  }
  return "";
}

Quality quality_of(double snr, std::optional<double> same_top1, int64_t samples) {
  constexpr double kUselessDecibels = 5, kDegradedDecibels = 15;
  constexpr double kUselessTop1 = 0.5, kDegradedTop1 = 0.9;
  constexpr int64_t kEnoughSamples = 10;
  Quality quality{.snr = snr, .same_top1 = same_top1};
  const QualityLevel by_snr = level_of(snr, kUselessDecibels, kDegradedDecibels);
  quality.level = by_snr;
  quality.top1_is_judged = same_top1 && samples >= kEnoughSamples;
  if (!quality.top1_is_judged) return quality;
  const QualityLevel by_top1 = level_of(*same_top1, kUselessTop1, kDegradedTop1);
  quality.level = std::max(by_snr, by_top1);
  if (std::min(by_snr, by_top1) == QualityLevel::Good)
    quality.level = std::min(quality.level, QualityLevel::Degraded);
  return quality;
}

}  // namespace sparsebit::exports
