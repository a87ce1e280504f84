// The data centers that --data-centers selects.
//
// Thread safety: pure function.
#ifndef RINGSHIFT_SERVER_SELECTION_H_
#define RINGSHIFT_SERVER_SELECTION_H_

#include <algorithm>
#include <string>
#include <vector>

namespace ringshift {

// Whether `name` is among `selected`; none means all.
inline bool IsSelected(const std::vector<std::string>& selected, const std::string& name) {
  return selected.empty() || std::find(selected.begin(), selected.end(), name) != selected.end();
}

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_SELECTION_H_
