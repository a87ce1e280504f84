// What `ringctl route` and `explain` are asked about, and the options for it.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_KEY_QUERY_H_
#define RINGSHIFT_CLIENT_RINGCTL_KEY_QUERY_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ringshift {

struct KeyQuery {
  std::string data_center;
  std::string pool;
  int replicas = 1;
  bool hex = false;
  bool json = false;
  std::vector<std::string> keys;  // as they are given
};

// Adds the options, and lets `command` have further arguments, which are the keys.
void AddKeyQueryOptions(CLI::App& command, KeyQuery& query, const std::string& about_data_center);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_KEY_QUERY_H_
