// What answers of a router look like in tables and in JSON: times, shares, and the words for their
// enums. A value that this program does not know is "unknown".
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_PROTO_TEXT_H_
#define RINGSHIFT_CLIENT_RINGCTL_PROTO_TEXT_H_

#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "client/ringctl/json_writer.h"
#include "ringshift/v1/migration.pb.h"
#include "ringshift/v1/status.pb.h"
#include "ringshift/v1/topology.pb.h"

namespace ringshift {

absl::Time ToTime(const google::protobuf::Timestamp& time);

// "2026-01-31 12:00:00Z".
std::string TimeForPeople(const google::protobuf::Timestamp& time);

// "2026-01-31T12:00:00.000000Z".
std::string TimeForScripts(const google::protobuf::Timestamp& time);

// "12.5%"; the number itself where a server sends one out of range.
std::string PercentOfPpm(std::int32_t ppm);

// A part of the key space, 0 to 1, in percent to four decimals: "23.4512%". What is more than 0 and
// less than that shows is "<0.0001%".
std::string PercentOfRatio(double ratio);

// "0123456789abcdef".
std::string ChecksumText(std::uint64_t checksum);

// `text`, or "-" where there is none.
std::string OrDash(std::string_view text);

std::string_view RingLayoutText(v1::RingLayout layout);
std::string_view ChangeKindText(v1::MigrationChangeKind kind);
std::string_view DurabilityText(v1::Durability durability);
std::string_view ReloadOutcomeText(v1::ReloadOutcome outcome);
std::string_view ReloadTriggerText(v1::ReloadTrigger trigger);
std::string_view RouterPhaseText(v1::RouterPhase phase);

// The value of a member that may be absent: null then.
void WriteTime(bool is_present, const google::protobuf::Timestamp& time, JsonWriter& json);
void WritePpm(bool is_present, std::int32_t ppm, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_PROTO_TEXT_H_
