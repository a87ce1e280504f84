// What another share will do, as tables for people and as JSON for scripts.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_FORECAST_VIEW_H_
#define RINGSHIFT_CLIENT_RINGCTL_FORECAST_VIEW_H_

#include "client/ringctl/json_writer.h"
#include "client/ringctl/output.h"
#include "ringshift/v1/migration.pb.h"

namespace ringshift {

// Of one data center a line for each fact, and the nodes that gain and lose most; of several a line
// for each, and what they are together. What could not be forecast is "-", and said why.
void PrintForecasts(const v1::ForecastMigrationResponse& response, Output& output);

// The object of docs/ringctl.md. Every member is there whatever its value.
void WriteForecast(const v1::Forecast& forecast, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_FORECAST_VIEW_H_
