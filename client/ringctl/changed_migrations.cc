#include "client/ringctl/changed_migrations.h"

#include <unistd.h>

#include "client/ringctl/migration_view.h"
#include "client/ringctl/output.h"

namespace ringshift {

ExitCode PrintChanged(const google::protobuf::RepeatedPtrField<v1::Migration>& migrations,
                      bool as_json, const std::function<void(JsonWriter&)>& more) {
  const Migrations list(migrations.begin(), migrations.end());
  Output output(STDOUT_FILENO);
  if (as_json) {
    JsonWriter json;
    json.BeginObject().Key("migrations");
    WriteMigrations(list, json);
    more(json);
    json.EndObject();
    output.Write(json.TakeLine());
  } else {
    PrintMigrations(list, output);
  }
  return output.Finish();
}

}  // namespace ringshift
