// Which data center or ring of which topology file, and the options that say it.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_RING_OF_FILE_H_
#define RINGSHIFT_CLIENT_RINGCTL_RING_OF_FILE_H_

#include <string>

namespace CLI {
class App;
}

namespace ringshift {

struct RingOfFile {
  std::string topology_file;
  std::string data_center;
  std::string ring;  // "v1" or "v2"
};

// Adds --topology and --data-center, both required.
void AddDataCenterOfFileOptions(CLI::App& command, std::string& topology_file,
                                std::string& data_center);

// Adds those and --ring, all of them required.
void AddRingOfFileOptions(CLI::App& command, RingOfFile& ring);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_RING_OF_FILE_H_
