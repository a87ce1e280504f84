#include "migration/etcd/etcd_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

TEST(EtcdAddressTest, EndpointsAndPrefixAreRead) {
  EXPECT_THAT(ParseEtcdAddress("etcd://etcd-1.example:2379"),
              IsOkAndHolds(EtcdAddress{{"etcd-1.example:2379"}, "/ringshift/"}));
  EXPECT_THAT(
      ParseEtcdAddress("etcd://a:1,10.0.0.2:65535,[2001:db8::1]:2379?prefix=/cdn/eu-1/"),
      IsOkAndHolds(EtcdAddress{{"a:1", "10.0.0.2:65535", "[2001:db8::1]:2379"}, "/cdn/eu-1/"}));
}

TEST(EtcdAddressTest, WhatMakesNoSenseIsQuotedWithWhatIsExpected) {
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {
      {"http://a:1", "does not begin with etcd://"},
      {"etcd://", "an endpoint is missing"},
      {"etcd://a:1,", "an endpoint is missing"},
      {"etcd://,a:1", "an endpoint is missing"},
      {"etcd://a", "endpoint \"a\" has no port"},
      {"etcd://[::1]", "endpoint \"[::1]\" has no port"},
      {"etcd://a:", "port \"\" is not a number from 1 to 65535"},
      {"etcd://a:0", "port \"0\" is not a number from 1 to 65535"},
      {"etcd://a:65536", "port \"65536\" is not a number"},
      {"etcd://a:1x", "port \"1x\" is not a number"},
      {"etcd://:1", "host \"\" is neither a name nor an address"},
      {"etcd://::1:2379", "host \"::1\" is neither a name nor an address"},
      {"etcd://[a]:2379", "host \"a\" is neither a name nor an address"},
      {"etcd://user@a:1", "host \"user@a\" is neither a name nor an address"},
      {"etcd://a:1/path", "port \"1/path\" is not a number"},
      {"etcd://a:1,b:2,a:1", "endpoint \"a:1\" comes twice"},
      {"etcd://a:1?", "\"\" is not prefix=..., the only option"},
      {"etcd://a:1?user=x", "\"user=x\" is not prefix=..., the only option"},
      {"etcd://a:1?prefix=", "prefix \"\" does not begin and end with '/'"},
      {"etcd://a:1?prefix=/", "prefix \"/\" does not begin and end with '/'"},
      {"etcd://a:1?prefix=/a", "prefix \"/a\" does not begin and end with '/'"},
      {"etcd://a:1?prefix=a/", "prefix \"a/\" does not begin and end with '/'"},
      {"etcd://a:1?prefix=/a&b/", "prefix \"/a&b/\" does not begin and end with '/'"},
  };
  for (const auto& [text, message] : kCases) {
    EXPECT_THAT(ParseEtcdAddress(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(message), HasSubstr("it is etcd://host:port"))))
        << text;
  }
}

}  // namespace
}  // namespace ringshift
