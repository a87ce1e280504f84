// Writes JSON (RFC 8259), one value a line, in the order of the calls.
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Key("data_center").String("ams");
//   json.Key("v2_ppm").Int(0);
//   json.EndObject();
//   output.Write(json.TakeLine());  // {"data_center":"ams","v2_ppm":0} and a newline
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_JSON_WRITER_H_
#define RINGSHIFT_CLIENT_RINGCTL_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace ringshift {

class JsonWriter {
 public:
  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  // The name of the next value, inside an object.
  JsonWriter& Key(std::string_view name);

  // Control characters are escaped; bytes that are not UTF-8 become U+FFFD.
  JsonWriter& String(std::string_view text);
  JsonWriter& Int(std::int64_t value);
  JsonWriter& Uint(std::uint64_t value);
  // The shortest text that reads back as `value`; null where JSON has none (infinities, NaN).
  JsonWriter& Double(double value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();

  // A routed key under the name "key" if it is UTF-8 and not `as_hex`, else in lower-case hex under
  // "key_hex".
  JsonWriter& RoutedKey(std::string_view key, bool as_hex);

  // What was written, with a newline; the writer is as new afterwards.
  std::string TakeLine();

 private:
  // Puts the comma that a further member needs.
  void BeforeValue();
  void AppendQuoted(std::string_view text);

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_JSON_WRITER_H_
