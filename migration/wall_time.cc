#include "migration/wall_time.h"

namespace ringshift {

WallTime SystemWallTime() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace ringshift
