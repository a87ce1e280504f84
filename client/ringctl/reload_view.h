// What a reload did, and what the topology file holds that does not serve yet: as tables for people
// and as JSON for scripts.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_RELOAD_VIEW_H_
#define RINGSHIFT_CLIENT_RINGCTL_RELOAD_VIEW_H_

#include <google/protobuf/repeated_ptr_field.h>

#include "client/ringctl/json_writer.h"
#include "client/ringctl/output.h"
#include "ringshift/v1/topology.pb.h"

namespace ringshift {

using TopologyChanges = google::protobuf::RepeatedPtrField<v1::TopologyChange>;

// The changes, one a line, and below them why data centers are held or have failed. Those that are
// unchanged are only counted.
void PrintChanges(const TopologyChanges& changes, Output& output);

// The objects of docs/ringctl.md. Every member is there whatever its value.
void WriteChanges(const TopologyChanges& changes, JsonWriter& json);
void WriteReloadStatus(const v1::ReloadStatus& status, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_RELOAD_VIEW_H_
