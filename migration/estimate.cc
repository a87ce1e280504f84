#include "migration/estimate.h"

#include <algorithm>
#include <cmath>

namespace ringshift {

EstimatedRatio KeyedSample::Ratio() const {
  if (requests_ == 0) return {0, 0, 1};
  constexpr double kZ = 1.959964;  // of the normal distribution, 95 % are within so many deviations
  const double ratio = with_property_ / requests_;
  const double draws = requests_ * requests_ / squares_;
  const double scale = 1 + kZ * kZ / draws;
  const double center = (ratio + kZ * kZ / (2 * draws)) / scale;
  const double half =
      kZ / scale * std::sqrt(ratio * (1 - ratio) / draws + kZ * kZ / (4 * draws * draws));
  return {ratio, std::clamp(center - half, 0.0, ratio), std::clamp(center + half, ratio, 1.0)};
}

}  // namespace ringshift
