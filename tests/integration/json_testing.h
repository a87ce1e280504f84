// Reads JSON as strictly as protobuf does, for tests of what programs print.
#ifndef RINGSHIFT_TESTS_INTEGRATION_JSON_TESTING_H_
#define RINGSHIFT_TESTS_INTEGRATION_JSON_TESTING_H_

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>

namespace ringshift::testing {

// The object that `json` is; a test failure and an empty object if it is none.
inline google::protobuf::Struct ParseJsonObject(const std::string& json) {
  google::protobuf::Struct object;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &object);
  EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << json;
  return object;
}

// Member `name` of `object`; a test failure if there is none.
inline google::protobuf::Value Member(const google::protobuf::Struct& object,
                                      const std::string& name) {
  const auto member = object.fields().find(name);
  if (member != object.fields().end()) return member->second;
  ADD_FAILURE() << "no member " << name << " in " << object.ShortDebugString();
  return {};
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_INTEGRATION_JSON_TESTING_H_
