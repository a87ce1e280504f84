#include "server/prometheus_query.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <httplib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"

namespace ringshift {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Struct;
using google::protobuf::Value;
using internal::Quote;

constexpr char kNoAnswer[] = "Prometheus answers with what is not an answer to a query";

Measurement Missing(std::string reason) { return {std::nullopt, std::move(reason)}; }

// Null if there is no such member, or it is of another kind.
const Value* Member(const Struct& object, const std::string& name, Value::KindCase kind) {
  const auto member = object.fields().find(name);
  const bool fits = member != object.fields().end() && member->second.kind_case() == kind;
  return fits ? &member->second : nullptr;
}

std::string Text(const Struct& object, const std::string& name) {
  const Value* const text = Member(object, name, Value::kStringValue);
  return text == nullptr ? "" : text->string_value();
}

// `[SECONDS, "VALUE"]`.
Measurement ReadSample(const ListValue& sample, WallTime now) {
  if (sample.values_size() != 2 || sample.values(0).kind_case() != Value::kNumberValue ||
      sample.values(1).kind_case() != Value::kStringValue) {
    return Missing(kNoAnswer);
  }
  const double age = std::chrono::duration<double>(now.time_since_epoch()).count() -
                     sample.values(0).number_value();
  constexpr double kMaxAge = std::chrono::duration<double>(PrometheusQuery::kMaxAge).count();
  if (!(std::abs(age) <= kMaxAge)) {
    return Missing(absl::StrCat("the answer is stale: it is of more than ",
                                PrometheusQuery::kMaxAge.count(),
                                " s ago, or the clocks of Prometheus and this router differ"));
  }
  const std::string& text = sample.values(1).string_value();
  if (text == "NaN") return Missing("its value is not a number");
  if (text == "+Inf" || text == "-Inf") return Missing("its value is infinite");
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !std::isfinite(value)) return Missing(kNoAnswer);
  return {value, ""};
}

Measurement ReadVector(const ListValue& vector, WallTime now) {
  if (vector.values_size() == 0) return Missing("no data");
  if (vector.values_size() > 1) {
    return Missing("the query has several series, not one value; aggregate them");
  }
  if (vector.values(0).kind_case() != Value::kStructValue) return Missing(kNoAnswer);
  const Value* const sample = Member(vector.values(0).struct_value(), "value", Value::kListValue);
  return sample == nullptr ? Missing(kNoAnswer) : ReadSample(sample->list_value(), now);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrometheusQuery>> PrometheusQuery::Create(std::string_view url,
                                                                         Options options) {
  constexpr std::string_view kScheme = "http://";
  const std::string_view rest =
      url.substr(0, kScheme.size()) == kScheme ? url.substr(kScheme.size()) : std::string_view();
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view path = rest.substr(slash);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  const bool is_plain = url.find_first_of(" ?#@\"\\") == std::string_view::npos;
  if (slash == 0 || rest.front() == ':' || !is_plain) {
    return absl::InvalidArgumentError(
        absl::StrCat("the URL of Prometheus, ", Quote(url), ", is not http://HOST[:PORT][/PATH]"));
  }
  return std::unique_ptr<PrometheusQuery>(
      new PrometheusQuery(std::string(url.substr(0, kScheme.size() + slash)),
                          std::string(path) + "/api/v1/query", std::move(options)));
}

PrometheusQuery::PrometheusQuery(std::string origin, std::string path, Options options)
    : origin_(std::move(origin)), path_(std::move(path)), options_(std::move(options)) {}

Measurement PrometheusQuery::Measure(const std::string& query) {
  httplib::Client client(origin_);
  if (!client.is_valid()) return Missing(absl::StrCat("no connection to ", origin_));
  client.set_connection_timeout(options_.timeout);
  client.set_read_timeout(options_.timeout);
  client.set_write_timeout(options_.timeout);
  const auto deadline = std::chrono::steady_clock::now() + 2 * options_.timeout;
  std::string body;
  bool is_too_long = false;
  const httplib::Result result =
      client.Get(path_, httplib::Params{{"query", query}}, httplib::Headers(),
                 [&](const char* data, std::size_t size) {
                   is_too_long = size > kMaxAnswerBytes - body.size();
                   if (is_too_long || std::chrono::steady_clock::now() > deadline) return false;
                   body.append(data, size);
                   return true;
                 });
  if (is_too_long) {
    return Missing(absl::StrCat("an answer of more than ", kMaxAnswerBytes, " bytes"));
  }
  if (!result) {
    switch (result.error()) {
      case httplib::Error::Connection:
      case httplib::Error::ConnectionTimeout:
        return Missing(absl::StrCat("no connection to ", origin_));
      default:
        return Missing(absl::StrCat("no whole answer from ", origin_, " within ",
                                    options_.timeout.count(), " ms"));
    }
  }
  // Refusals of a query have a body that says why.
  if (result->status != 200 && result->status / 100 != 4 && result->status != 503) {
    return Missing(absl::StrCat(origin_, " answers with HTTP status ", result->status));
  }
  Measurement measurement = ReadPrometheusAnswer(body, options_.clock());
  if (result->status == 200) return measurement;
  return Missing(absl::StrCat(origin_, " answers with HTTP status ", result->status,
                              measurement.missing.empty() ? "" : ": ", measurement.missing));
}

Measurement ReadPrometheusAnswer(const std::string& json, WallTime now) {
  Struct answer;
  if (!google::protobuf::util::JsonStringToMessage(json, &answer).ok()) return Missing(kNoAnswer);
  const std::string status = Text(answer, "status");
  if (status == "error") {
    return Missing(absl::StrCat("Prometheus refuses the query: ", Quote(Text(answer, "error"))));
  }
  const Value* const data = Member(answer, "data", Value::kStructValue);
  if (status != "success" || data == nullptr) return Missing(kNoAnswer);
  if (answer.fields().contains("warnings")) {
    return Missing("the answer has warnings: its data may be partial");
  }
  const std::string type = Text(data->struct_value(), "resultType");
  const Value* const result = Member(data->struct_value(), "result", Value::kListValue);
  if (result == nullptr || type.empty()) return Missing(kNoAnswer);
  if (type == "scalar") return ReadSample(result->list_value(), now);
  if (type == "vector") return ReadVector(result->list_value(), now);
  return Missing(absl::StrCat("the query is a ", Quote(type), ", not one value"));
}

}  // namespace ringshift
