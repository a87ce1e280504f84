// Migrations as tables for people and as JSON for scripts.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_MIGRATION_VIEW_H_
#define RINGSHIFT_CLIENT_MIGRATION_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/json_writer.h"
#include "client/output.h"
#include "ringshift/v1/migration.pb.h"

namespace ringshift {

// "12.5%"; the number itself where a server sends one out of range.
std::string PercentOfPpm(std::int32_t ppm);

// "2026-01-31 12:00:00Z".
std::string UpdateTime(const v1::Migration& migration);

// One migration, a line for each of its facts.
void PrintMigration(const v1::Migration& migration, Output& output);

// Migrations, one a line.
void PrintMigrations(const std::vector<v1::Migration>& migrations, Output& output);

// The object of docs/ringctl.md. v2_ppm is there whatever it is.
void WriteMigration(const v1::Migration& migration, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_MIGRATION_VIEW_H_
