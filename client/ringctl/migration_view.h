// Migrations and their history as tables for people and as JSON for scripts.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_MIGRATION_VIEW_H_
#define RINGSHIFT_CLIENT_RINGCTL_MIGRATION_VIEW_H_

#include <google/protobuf/repeated_field.h>

#include <string>
#include <vector>

#include "client/ringctl/json_writer.h"
#include "client/ringctl/output.h"
#include "ringshift/v1/migration.pb.h"

namespace ringshift {

using Migrations = std::vector<v1::Migration>;
using ChangedMigrations = google::protobuf::RepeatedPtrField<v1::ChangedMigration>;

// One migration, a line for each of its facts.
void PrintMigration(const v1::Migration& migration, Output& output);

// Migrations, one a line, and below them what MigrationNote has of each.
void PrintMigrations(const Migrations& migrations, Output& output);

// Migrations with their shares before, one a line, and below them what MigrationNote has of each.
void PrintChangedMigrations(const ChangedMigrations& changes, Output& output);

// Changes of the history, one a line; those of one revision are a group, which says once who it was
// and why.
void PrintHistory(const std::vector<v1::MigrationChange>& changes, Output& output);

// Why the effective share is another one than the one that was set, and what else of it must not be
// overlooked: lines for a terminal; "" where there is nothing.
std::string MigrationNote(const v1::Migration& migration);

// "12.5%", "orphaned", "-": what the router answers with.
std::string EffectiveText(const v1::Migration& migration);
// "12.5%", or "-" where no key was answered.
std::string MeasuredText(const v1::Migration& migration);
// "5.00%", "<0.01%": which part of the requests that `outcomes` reports is the `rate` of them. "-"
// where it reports none.
std::string OutcomePercent(double rate, const v1::OutcomeRates& outcomes);
// "frozen, v1 retired, override", or "".
std::string MarksText(const v1::Migration& migration);

// The objects of docs/ringctl.md. Every member is there whatever its value.
void WriteMigration(const v1::Migration& migration, JsonWriter& json);
void WriteMigrations(const Migrations& migrations, JsonWriter& json);
void WriteChangedMigrations(const ChangedMigrations& changes, JsonWriter& json);
void WriteMigrationChange(const v1::MigrationChange& change, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_MIGRATION_VIEW_H_
