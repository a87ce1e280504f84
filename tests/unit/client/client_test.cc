// What Client refuses, and what it takes for the answer of a router.
#include "ringshift/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "client/client_proto.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr absl::StatusCode kInvalidArgument = absl::StatusCode::kInvalidArgument;

TEST(ClientOptionsTest, WithoutARouterThereIsNoClient) {
  EXPECT_THAT(Client::Create({}), StatusIs(kInvalidArgument, HasSubstr("routers is empty")));
}

TEST(ClientOptionsTest, AddressesOfAllKindsAreTaken) {
  EXPECT_THAT(
      Client::Create({{"127.0.0.1:1", "router.example:7400", "[::1]:7400", "unix:/no/socket"}}),
      IsOk());
}

TEST(ClientOptionsTest, WhatIsNoAddressIsRefused) {
  for (const std::string bad : {"", "router", "dns:///router:7400", "unix:", "\n:80"}) {
    EXPECT_THAT(Client::Create({{"127.0.0.1:1", bad}}),
                StatusIs(kInvalidArgument, HasSubstr("is not an address: write HOST:PORT")))
        << bad;
  }
  EXPECT_THAT(Client::Create({{"router"}}), StatusIs(kInvalidArgument, HasSubstr("\"router\"")));
}

TEST(ClientOptionsTest, ARouterThatComesTwiceIsRefused) {
  EXPECT_THAT(Client::Create({{"a:1", "b:1", "a:1"}}),
              StatusIs(kInvalidArgument, HasSubstr("\"a:1\" comes twice")));
}

TEST(ClientOptionsTest, TheTimeoutIsAboveZeroAndAtMostADay) {
  using std::chrono::hours;
  using std::chrono::microseconds;
  EXPECT_THAT(Client::Create({{"a:1"}, microseconds(0)}),
              StatusIs(kInvalidArgument, HasSubstr("the timeout of 0 us")));
  EXPECT_THAT(Client::Create({{"a:1"}, microseconds(-1)}),
              StatusIs(kInvalidArgument, HasSubstr("the timeout of -1 us")));
  EXPECT_THAT(Client::Create({{"a:1"}, hours(24) + microseconds(1)}),
              StatusIs(kInvalidArgument, HasSubstr("at most a day")));
  EXPECT_THAT(Client::Create({{"a:1"}, hours(24)}), IsOk());
}

TEST(ClientProtoTest, AnAnswerWithoutAnOwnerIsAnError) {
  EXPECT_THAT(FromProto(v1::RouteResponse()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("without an owner")));
}

v1::RouteResponse OneOwner(int ring_version) {
  v1::RouteResponse response;
  response.mutable_owner()->set_name("a");
  response.mutable_owner()->set_address("a.example:443");
  response.set_ring_version(static_cast<v1::RingVersion>(ring_version));
  return response;
}

// The answer to two keys.
v1::RouteBatchResponse Batch() {
  v1::RouteBatchResponse response;
  response.add_nodes()->set_name("a");
  response.mutable_nodes(0)->set_address("a.example:443");
  response.add_nodes()->set_name("b");
  response.mutable_nodes(1)->set_address("b.example:443");
  response.add_node_indexes(1);
  response.add_node_indexes(0);
  response.add_ring_versions(v1::RING_VERSION_V2);
  response.add_ring_versions(v1::RING_VERSION_V1);
  response.mutable_table()->set_checksum(7);
  return response;
}

TEST(ClientProtoTest, ARingThatIsNewerThanTheClientIsVersionZeroAndItsOwnerIsGood) {
  ASSERT_OK_AND_ASSIGN(const RouteReply two, FromProto(OneOwner(2)));
  EXPECT_EQ(two.ring_version, 2);
  for (const int newer : {3, 9, 256 + 1, 0x7FFFFFFF}) {
    ASSERT_OK_AND_ASSIGN(const RouteReply reply, FromProto(OneOwner(newer)));
    EXPECT_EQ(reply.ring_version, 0) << newer;
    EXPECT_EQ(reply.owner.name, "a");
  }
}

TEST(ClientProtoTest, ANodeWithoutAnAddressIsAnError) {
  const auto refusal = [](std::string what) {
    return StatusIs(absl::StatusCode::kInternal, HasSubstr(what + ", which has no address"));
  };
  v1::RouteResponse owner = OneOwner(1);
  owner.mutable_owner()->clear_address();
  EXPECT_THAT(FromProto(owner), refusal("owner \"a\""));
  v1::RouteResponse replica = OneOwner(1);
  replica.add_replicas()->set_name("r");
  EXPECT_THAT(FromProto(replica), refusal("replica \"r\""));
  v1::RouteResponse previous = OneOwner(1);
  previous.mutable_previous_owner()->set_name("p");
  EXPECT_THAT(FromProto(previous), refusal("previous owner \"p\""));
  v1::RouteBatchResponse batch = Batch();
  batch.mutable_nodes(1)->clear_address();
  EXPECT_THAT(FromProto(batch, 2), refusal("node \"b\""));
}

TEST(ClientProtoTest, ThePreviousOwnerIsThatOfTheAnswer) {
  v1::RouteResponse response = OneOwner(1);
  ASSERT_OK_AND_ASSIGN(const RouteReply without, FromProto(response));
  EXPECT_FALSE(without.previous_owner.has_value());
  response.mutable_previous_owner()->set_name("p");
  response.mutable_previous_owner()->set_address("p.example:443");
  ASSERT_OK_AND_ASSIGN(const RouteReply with, FromProto(response));
  ASSERT_TRUE(with.previous_owner);
  EXPECT_EQ(with.previous_owner->name, "p");
  EXPECT_EQ(with.previous_owner->address, "p.example:443");
}

TEST(ClientProtoTest, ABatchKnowsThePreviousOwnersOfTheKeysThatHaveOne) {
  v1::RouteBatchResponse response = Batch();
  ASSERT_OK_AND_ASSIGN(const BatchReply without, FromProto(response, 2));
  EXPECT_EQ(without.previous_owner(0), nullptr);
  response.add_previous_owner_places(0);
  response.add_previous_owner_places(2);
  ASSERT_OK_AND_ASSIGN(const BatchReply with, FromProto(response, 2));
  EXPECT_EQ(with.previous_owner(0), nullptr);
  ASSERT_NE(with.previous_owner(1), nullptr);
  EXPECT_EQ(with.previous_owner(1)->name, "b");
}

TEST(ClientProtoTest, PlacesOfPreviousOwnersThatCannotBeAreAnError) {
  v1::RouteBatchResponse response = Batch();
  response.add_previous_owner_places(0);
  EXPECT_THAT(FromProto(response, 2), StatusIs(absl::StatusCode::kInternal,
                                               HasSubstr("1 places of previous owners for 2")));
  for (const int place : {-1, 3}) {
    response = Batch();
    response.add_previous_owner_places(0);
    response.add_previous_owner_places(place);
    EXPECT_THAT(
        FromProto(response, 2),
        StatusIs(absl::StatusCode::kInternal, HasSubstr("key 1 has the previous owner at place " +
                                                        std::to_string(place) + " of 2")));
  }
}

TEST(ClientProtoTest, AnAnswerWithoutARingVersionIsAnError) {
  for (const int bad : {0, -1}) {
    EXPECT_THAT(
        FromProto(OneOwner(bad)),
        StatusIs(absl::StatusCode::kInternal, HasSubstr("ring version " + std::to_string(bad))));
  }
}

TEST(ClientProtoTest, ABatchKnowsTheOwnerOfEachKey) {
  ASSERT_OK_AND_ASSIGN(const BatchReply reply, FromProto(Batch(), 2));
  EXPECT_EQ(reply.size(), 2U);
  EXPECT_EQ(reply.owner(0).address, "b.example:443");
  EXPECT_EQ(reply.owner(1).name, "a");
  EXPECT_THAT(reply.ring_versions, ElementsAre(2, 1));
  EXPECT_EQ(reply.table.checksum, 7U);
}

TEST(ClientProtoTest, ABatchMayBeAnsweredByNewerRingsAsWell) {
  v1::RouteBatchResponse response = Batch();
  response.set_ring_versions(1, static_cast<v1::RingVersion>(256 + 1));
  ASSERT_OK_AND_ASSIGN(const BatchReply reply, FromProto(response, 2));
  EXPECT_THAT(reply.ring_versions, ElementsAre(2, 0));
  EXPECT_EQ(reply.owner(1).name, "a");
}

TEST(ClientProtoTest, ABatchThatContradictsItselfIsAnError) {
  constexpr absl::StatusCode kInternal = absl::StatusCode::kInternal;
  EXPECT_THAT(FromProto(Batch(), 3),
              StatusIs(kInternal, HasSubstr("2 owners and 2 ring versions for 3")));
  for (const int index : {-1, 2}) {
    v1::RouteBatchResponse response = Batch();
    response.set_node_indexes(1, index);
    EXPECT_THAT(FromProto(response, 2),
                StatusIs(kInternal, AllOf(HasSubstr("key 1 "), HasSubstr("of 2"))));
  }
  v1::RouteBatchResponse response = Batch();
  response.set_ring_versions(1, v1::RING_VERSION_UNSPECIFIED);
  EXPECT_THAT(FromProto(response, 2),
              StatusIs(kInternal, AllOf(HasSubstr("key 1 "), HasSubstr("ring version 0"))));
  response.mutable_ring_versions()->RemoveLast();
  EXPECT_THAT(FromProto(response, 2), StatusIs(kInternal, HasSubstr("1 ring versions")));
}

}  // namespace
}  // namespace ringshift
