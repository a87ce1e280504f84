// The result of a command that changes migrations, on standard output.
#ifndef RINGSHIFT_CLIENT_RINGCTL_CHANGED_MIGRATIONS_H_
#define RINGSHIFT_CLIENT_RINGCTL_CHANGED_MIGRATIONS_H_

#include <google/protobuf/repeated_field.h>

#include <functional>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/json_writer.h"
#include "ringshift/v1/migration.pb.h"

namespace ringshift {

// A table, or `{"migrations": [...]}` with what `more` adds to it.
ExitCode PrintChanged(
    const google::protobuf::RepeatedPtrField<v1::Migration>& migrations, bool as_json,
    const std::function<void(JsonWriter&)>& more = [](JsonWriter&) {});

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_CHANGED_MIGRATIONS_H_
