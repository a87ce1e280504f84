#include "client/ringctl/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace ringshift {
namespace {

using namespace std::string_view_literals;

std::string Quoted(std::string_view text) {
  JsonWriter json;
  json.String(text);
  return json.TakeLine();
}

TEST(JsonWriterTest, MembersAndElementsAreSeparated) {
  JsonWriter json;
  json.BeginObject();
  json.Key("none").BeginArray().EndArray();
  json.Key("some").BeginArray().Int(1).BeginObject().EndObject().Bool(true).EndArray();
  json.Key("object").BeginObject().Key("a").Uint(2).Key("b").String("x").EndObject();
  json.Key("last").Bool(false);
  json.EndObject();
  EXPECT_EQ(json.TakeLine(),
            "{\"none\":[],\"some\":[1,{},true],\"object\":{\"a\":2,\"b\":\"x\"},\"last\":false}\n");
}

TEST(JsonWriterTest, TheWriterIsNewAfterALine) {
  JsonWriter json;
  json.BeginObject().EndObject();
  EXPECT_EQ(json.TakeLine(), "{}\n");
  json.BeginArray().EndArray();
  EXPECT_EQ(json.TakeLine(), "[]\n");
}

TEST(JsonWriterTest, ZeroIsWritten) {
  JsonWriter json;
  json.BeginObject().Key("v2_ppm").Int(0).EndObject();
  EXPECT_EQ(json.TakeLine(), "{\"v2_ppm\":0}\n");
}

TEST(JsonWriterTest, QuotesBackslashesAndControlsAreEscaped) {
  EXPECT_EQ(Quoted("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"\n");
  EXPECT_EQ(Quoted("\0\n\t\r\b\f\x1b\x7f"sv),
            "\"\\u0000\\u000a\\u0009\\u000d\\u0008\\u000c\\u001b\\u007f\"\n");
  EXPECT_EQ(Quoted("\xc2\x9b"), "\"\\u009b\"\n");
  EXPECT_EQ(Quoted("\xe2\x80\xa8"), "\"\\u2028\"\n");
}

TEST(JsonWriterTest, TextStaysText) { EXPECT_EQ(Quoted("Zürich 東京 🚀"), "\"Zürich 東京 🚀\"\n"); }

TEST(JsonWriterTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(Quoted("a\xff"
                   "b\xc3"),
            "\"a\\ufffdb\\ufffd\"\n");
}

TEST(JsonWriterTest, IntegersAreExact) {
  JsonWriter json;
  json.BeginArray();
  json.Int(std::numeric_limits<std::int64_t>::min())
      .Uint(std::numeric_limits<std::uint64_t>::max());
  json.EndArray();
  EXPECT_EQ(json.TakeLine(), "[-9223372036854775808,18446744073709551615]\n");
}

TEST(JsonWriterTest, DoublesAreTheShortestThatReadBack) {
  JsonWriter json;
  json.BeginArray().Double(0.1).Double(8).Double(1e300).Double(-0.25).EndArray();
  EXPECT_EQ(json.TakeLine(), "[0.1,8,1e+300,-0.25]\n");
}

TEST(JsonWriterTest, WhatJsonHasNoNumberForIsNull) {
  JsonWriter json;
  json.BeginArray();
  json.Double(std::numeric_limits<double>::infinity())
      .Double(std::numeric_limits<double>::quiet_NaN());
  json.EndArray();
  EXPECT_EQ(json.TakeLine(), "[null,null]\n");
}

TEST(JsonWriterTest, AKeyThatIsNotUtf8HasAnotherName) {
  JsonWriter json;
  json.BeginObject().RoutedKey("/img/1\n", false).EndObject();
  EXPECT_EQ(json.TakeLine(), "{\"key\":\"/img/1\\u000a\"}\n");
  json.BeginObject().RoutedKey("\x00\xff"sv, false).EndObject();
  EXPECT_EQ(json.TakeLine(), "{\"key_hex\":\"00ff\"}\n");
  json.BeginObject().RoutedKey("abc", true).EndObject();
  EXPECT_EQ(json.TakeLine(), "{\"key_hex\":\"616263\"}\n");
}

}  // namespace
}  // namespace ringshift
