// Writes a topology as YAML that ParseTopology reads back to the same.
//
// Thread safety: pure function.
#ifndef RINGSHIFT_ROUTING_TOPOLOGY_WRITER_H_
#define RINGSHIFT_ROUTING_TOPOLOGY_WRITER_H_

#include <string>

#include "routing/topology.h"

namespace ringshift {

// Equal topologies give equal texts: everything is written, defaults too, in the order of the
// topology. `topology` is one that ParseTopology accepts.
std::string WriteTopology(const Topology& topology);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_TOPOLOGY_WRITER_H_
