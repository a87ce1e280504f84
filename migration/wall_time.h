// The time of day, as people and stores have it.
#ifndef RINGSHIFT_MIGRATION_WALL_TIME_H_
#define RINGSHIFT_MIGRATION_WALL_TIME_H_

#include <chrono>
#include <functional>

namespace ringshift {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;
using WallClock = std::function<WallTime()>;

// The system's clock.
WallTime SystemWallTime();

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_WALL_TIME_H_
