// Endpoints, TLS, passwords and watches.
#include "migration/etcd/etcd_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "migration/etcd/etcd_watch.h"
#include "tests/integration/etcd/store_on_etcd.h"

namespace ringshift::testing {
namespace {

using absl::StatusCode;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

absl::Status Put(EtcdClient& client, const std::string& key, const std::string& value) {
  etcdserverpb::PutRequest request;
  request.set_key(key);
  request.set_value(value);
  return client.Put(request);
}

absl::StatusOr<std::string> Get(EtcdClient& client, const std::string& key) {
  etcdserverpb::RangeRequest request;
  request.set_key(key);
  const auto response = client.Range(request);
  if (!response.ok()) return response.status();
  return response->kvs_size() == 0 ? std::string("(none)") : response->kvs(0).value();
}

std::unique_ptr<EtcdClient> MustCreate(EtcdClientOptions options) {
  return EtcdClient::Create(std::move(options)).value();
}

EtcdClientOptions OptionsFor(std::vector<std::string> endpoints) {
  EtcdClientOptions options;
  options.endpoints = std::move(endpoints);
  return options;
}

TEST(EtcdClientTest, OptionsThatDoNotFitTogetherAreRefused) {
  EXPECT_THAT(EtcdClient::Create({}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("needs an endpoint")));
  EtcdClientOptions options = OptionsFor({"a:1"});
  options.user = "eva";
  EXPECT_THAT(EtcdClient::Create(options),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("user needs a password")));
  options = OptionsFor({"a:1"});
  options.key_file = "key.pem";
  EXPECT_THAT(EtcdClient::Create(options),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a certificate needs its key")));
  options.certificate_file = "cert.pem";
  EXPECT_THAT(EtcdClient::Create(options),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("give the CA of etcd's")));
  options.ca_file = "/nowhere/ca.pem";
  EXPECT_THAT(EtcdClient::Create(options),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr("/nowhere/ca.pem"), HasSubstr("No such file"))));
}

TEST(EtcdClientTest, ACallGoesOnToAnEndpointThatAnswers) {
  EtcdServer etcd;
  EtcdClientOptions options = etcd.ClientOptions();
  options.endpoints.insert(options.endpoints.begin(), "127.0.0.1:1");
  const auto client = MustCreate(options);
  EXPECT_THAT(Put(*client, "a", "1"), IsOk());
  EXPECT_THAT(Get(*client, "a"), IsOkAndHolds("1"));
  EXPECT_EQ(client->CurrentEndpoint(), 1u);
  EXPECT_EQ(client->EndpointNames(), "127.0.0.1:1, " + etcd.Endpoint(0));
}

// gRPC gives up at once after an attempt to connect that failed: nothing but calls brings it back.
TEST(EtcdClientTest, AnEtcdThatComesUpAfterTheClientIsConnectedTo) {
  EtcdServer etcd;
  etcd.Kill(0);
  const auto client = MustCreate(etcd.ClientOptions());
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Get(*client, "a"), StatusIs(StatusCode::kUnavailable, HasSubstr(etcd.Endpoint(0))));
  }
  etcd.Start(0);
  EXPECT_TRUE(Eventually([&] { return Get(*client, "a").ok(); }));
}

TEST(EtcdClientTest, WhereNoneAnswersTheErrorSaysOfEachWhy) {
  const auto client = MustCreate(OptionsFor({"127.0.0.1:1", "127.0.0.1:2"}));
  EXPECT_THAT(Get(*client, "a"),
              StatusIs(StatusCode::kUnavailable, AllOf(HasSubstr("etcd at 127.0.0.1:1: "),
                                                       HasSubstr("etcd at 127.0.0.1:2: "))));
}

TEST(EtcdClientTest, ASilentEndpointIsGivenUpAtTheDeadline) {
  EtcdServer etcd;
  EtcdClientOptions options = etcd.ClientOptions();
  options.call_timeout = milliseconds(200);
  const auto client = MustCreate(options);
  ASSERT_THAT(Put(*client, "a", "1"), IsOk());
  etcd.Signal(0, SIGSTOP);
  EXPECT_THAT(Get(*client, "a"), StatusIs(StatusCode::kUnavailable, HasSubstr("Deadline")));
  etcd.Signal(0, SIGCONT);
  EXPECT_TRUE(Eventually([&] { return Get(*client, "a").ok(); }));
}

TEST(EtcdClientTest, TlsNeedsTheRightCaAndACertificate) {
  EtcdServer etcd({.tls = true});
  const auto client = MustCreate(etcd.ClientOptions());
  EXPECT_THAT(Put(*client, "a", "1"), IsOk());
  EtcdClientOptions options = etcd.ClientOptions();
  options.certificate_file.clear();
  options.key_file.clear();
  EXPECT_THAT(Get(*MustCreate(options), "a"),
              StatusIs(StatusCode::kUnavailable, HasSubstr(etcd.Endpoint(0))));
  options = etcd.ClientOptions();
  options.ca_file = etcd.dir().File("client.pem");  // no CA of etcd's
  EXPECT_THAT(Get(*MustCreate(options), "a"),
              StatusIs(StatusCode::kUnavailable, HasSubstr(etcd.Endpoint(0))));
  options = OptionsFor(etcd.ClientOptions().endpoints);
  EXPECT_THAT(Get(*MustCreate(options), "a"),
              StatusIs(StatusCode::kUnavailable, HasSubstr(etcd.Endpoint(0))));
}

class EtcdPasswordTest : public StoreOnEtcd {
 protected:
  EtcdPasswordTest() {
    etcd_.Ctl({"user", "add", "root:secret"});
    etcd_.Ctl({"user", "grant-role", "root", "root"});
    etcd_.Ctl({"role", "add", "ringshift"});
    etcd_.Ctl(
        {"role", "grant-permission", "ringshift", "--prefix=true", "readwrite", "/ringshift/"});
    etcd_.Ctl({"user", "add", "router:word"});
    etcd_.Ctl({"user", "grant-role", "router", "ringshift"});
    etcd_.Ctl({"auth", "enable"});
  }
  EtcdStore::Options OptionsAs(const std::string& user, const std::string& password,
                               const std::string& router = "a") {
    EtcdStore::Options options = OptionsOf(router);
    options.etcd.user = user;
    options.etcd.password = password;
    return options;
  }
};

TEST_F(EtcdPasswordTest, OnlyTheRightUserWithTheRightPasswordIsServed) {
  EXPECT_THAT(EtcdStore::Open(OptionsOf("a")),
              StatusIs(StatusCode::kUnauthenticated, HasSubstr("wants a user and a password")));
  EXPECT_THAT(EtcdStore::Open(OptionsAs("router", "sword")),
              StatusIs(StatusCode::kUnauthenticated, HasSubstr("see to the user")));
  EtcdStore::Options options = OptionsAs("router", "word");
  options.prefix = "/elsewhere/";
  EXPECT_THAT(EtcdStore::Open(options),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("grant the user")));
  const auto store = MustOpen(OptionsAs("router", "word"));
  EXPECT_THAT(Make(*store, "ams"), IsOk());
}

// Tokens are in etcd's memory: after a restart none is good any more.
TEST_F(EtcdPasswordTest, ATokenThatIsNotGoodAnyMoreIsRenewed) {
  const auto a = MustOpen(OptionsAs("router", "word", "a"));
  const auto b = MustOpen(OptionsAs("router", "word", "b"));
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  etcd_.Kill(0);
  etcd_.Start(0);
  etcd_.WaitUntilReady();
  ASSERT_TRUE(Eventually([&] { return !a->Stale() && !b->Stale(); }));
  ASSERT_THAT(Set(*a, "ams", "12.5"), IsOk());
  EXPECT_TRUE(Eventually([&] { return ShareOf(*b, "ams") == Percent("12.5"); }));
}

class EtcdWatchTest : public StoreOnEtcd {
 protected:
  EtcdWatchTest() : client_(MustCreate(etcd_.ClientOptions())) {}

  static bool Wait(milliseconds time) {
    std::this_thread::sleep_for(time);
    return true;
  }
  std::int64_t Revision() {
    etcdserverpb::RangeRequest request;
    request.set_key("x");
    return client_->Range(request)->header().revision();
  }

  std::unique_ptr<EtcdClient> client_;
};

TEST_F(EtcdWatchTest, EventsComeFromTheRevisionOn) {
  ASSERT_THAT(Put(*client_, "k", "0"), IsOk());
  const std::int64_t start = Revision() + 1;
  ASSERT_THAT(Put(*client_, "k", "1"), IsOk());
  ASSERT_THAT(Put(*client_, "other", "x"), IsOk());
  EtcdWatch watch(*client_, "k", start);
  ASSERT_OK_AND_ASSIGN(auto events, watch.Next(steady_clock::now() + kPatience, Wait));
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].kv().value(), "1");
  EXPECT_THAT(watch.Next(steady_clock::now(), Wait), IsOkAndHolds(SizeIs(0)));
  ASSERT_THAT(Put(*client_, "k", "2"), IsOk());
  ASSERT_OK_AND_ASSIGN(events, watch.Next(steady_clock::now() + kPatience, Wait));
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].kv().value(), "2");
}

TEST_F(EtcdWatchTest, OfWhatWasCompactedItSaysSo) {
  for (int i = 0; i < 5; ++i) ASSERT_THAT(Put(*client_, "k", "v"), IsOk());
  etcdserverpb::CompactionRequest request;
  request.set_revision(Revision());
  ASSERT_THAT(client_->Compact(request), IsOk());
  EXPECT_THAT(client_->Compact(request), IsOk());
  EtcdWatch watch(*client_, "k", 2);
  EXPECT_THAT(watch.Next(steady_clock::now() + kPatience, Wait),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("compacted up to")));
  EtcdWatch next(*client_, "k", Revision() + 1);
  EXPECT_THAT(next.Next(steady_clock::now(), Wait), IsOkAndHolds(SizeIs(0)));
}

TEST_F(EtcdWatchTest, AnEtcdThatEndsEndsTheWatch) {
  EtcdWatch watch(*client_, "k", Revision() + 1);
  ASSERT_THAT(watch.Next(steady_clock::now(), Wait), IsOkAndHolds(SizeIs(0)));
  etcd_.Kill(0);
  EXPECT_THAT(watch.Next(steady_clock::now() + kPatience, Wait),
              StatusIs(StatusCode::kUnavailable, HasSubstr(etcd_.Endpoint(0))));
}

// It is asked whether it is alive, and does not say so.
TEST_F(EtcdWatchTest, AnEtcdThatIsSilentEndsTheWatch) {
  EtcdWatch watch(*client_, "k", Revision() + 1);
  ASSERT_THAT(watch.Next(steady_clock::now() + milliseconds(200), Wait), IsOkAndHolds(SizeIs(0)));
  etcd_.Signal(0, SIGSTOP);
  EXPECT_THAT(watch.Next(steady_clock::now() + kPatience, Wait),
              StatusIs(StatusCode::kUnavailable, HasSubstr(etcd_.Endpoint(0))));
  etcd_.Signal(0, SIGCONT);
}

TEST_F(EtcdWatchTest, WaitingEndsWhenItsOwnerEnds) {
  EtcdWatch watch(*client_, "k", Revision() + 1);
  EXPECT_THAT(watch.Next(steady_clock::now() + kPatience, [](milliseconds) { return false; }),
              IsOkAndHolds(SizeIs(0)));
}

}  // namespace
}  // namespace ringshift::testing
