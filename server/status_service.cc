#include "server/status_service.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/migration_proto.h"
#include "server/topology_proto.h"

namespace ringshift {
namespace {

v1::RouterPhase ToProto(Phase phase) {
  switch (phase) {
    case Phase::kStarting:
      return v1::ROUTER_PHASE_STARTING;
    case Phase::kServing:
      return v1::ROUTER_PHASE_SERVING;
    case Phase::kDraining:
    case Phase::kRefusing:
      return v1::ROUTER_PHASE_DRAINING;
  }
  return v1::ROUTER_PHASE_UNSPECIFIED;
}

std::uint64_t RingMemory(const DataCenter& data_center) {
  std::uint64_t bytes = 0;
  for (const DataCenter::BuiltRing* ring : {data_center.v1(), data_center.v2()}) {
    if (ring != nullptr) bytes += ring->memory_bytes();
  }
  return bytes;
}

}  // namespace

grpc::Status StatusService::GetStatus(grpc::ServerContext* /*context*/,
                                      const v1::GetStatusRequest* /*request*/,
                                      v1::GetStatusResponse* response) {
  response->set_version(RINGSHIFT_VERSION);
  response->set_phase(ToProto(lifecycle_.phase()));
  ringshift::ToProto(start_time_, *response->mutable_start_time());
  const absl::Status store = store_.status();
  response->mutable_store()->set_name(store_.name());
  response->mutable_store()->set_is_up(store.ok());
  response->mutable_store()->set_error(std::string(store.message()));
  response->mutable_store()->set_was_created(store_.was_created());
  ringshift::ToProto(topology_.status(), topology_.path(), *response->mutable_reload());
  const std::vector<std::shared_ptr<const RoutingTable>> tables = directory_.Tables();
  response->set_data_centers(static_cast<std::int32_t>(tables.size()));
  std::uint64_t bytes = 0;
  for (const auto& table : tables) bytes += RingMemory(table->data_center());
  response->set_ring_memory_bytes(static_cast<std::int64_t>(bytes));
  return grpc::Status::OK;
}

}  // namespace ringshift
