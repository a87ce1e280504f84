// Migrations and their history as tables for people and as JSON for scripts.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_MIGRATION_VIEW_H_
#define RINGSHIFT_CLIENT_RINGCTL_MIGRATION_VIEW_H_

#include <vector>

#include "client/ringctl/json_writer.h"
#include "client/ringctl/output.h"
#include "ringshift/v1/migration.pb.h"

namespace ringshift {

// One migration, a line for each of its facts.
void PrintMigration(const v1::Migration& migration, Output& output);

// Migrations, one a line, and below them why the effective share of one is not what was set.
void PrintMigrations(const std::vector<v1::Migration>& migrations, Output& output);

// Changes of the history, one a line.
void PrintHistory(const std::vector<v1::MigrationChange>& changes, Output& output);

// The objects of docs/ringctl.md. Every member is there whatever its value.
void WriteMigration(const v1::Migration& migration, JsonWriter& json);
void WriteMigrationChange(const v1::MigrationChange& change, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_MIGRATION_VIEW_H_
