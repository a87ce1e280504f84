// MigrationClient and TopologyClient against servers in this process: that all pages are read.
#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "client/ringctl/migration_client.h"
#include "client/ringctl/topology_client.h"

namespace ringshift {
namespace {

using ::testing::ElementsAre;

// Starts `service` on a port of its own.
class Server {
 public:
  explicit Server(grpc::Service& service) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
  }
  RemoteOptions options() const { return {"127.0.0.1:" + std::to_string(port_), "60s"}; }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// The index that a page begins at: tokens are numbers.
int Begin(const std::string& page_token) { return page_token.empty() ? 0 : std::stoi(page_token); }

// Has `size` changes with the revisions size, size - 1, ... 1, and gives at most 2 a page.
class FakeHistory : public v1::MigrationService::Service {
 public:
  explicit FakeHistory(int size) : size_(size) {}
  std::vector<int> page_sizes;  // that were asked for

 private:
  grpc::Status ListMigrationChanges(grpc::ServerContext*,
                                    const v1::ListMigrationChangesRequest* request,
                                    v1::ListMigrationChangesResponse* response) override {
    page_sizes.push_back(request->page_size());
    int i = Begin(request->page_token());
    for (; i < size_ && response->changes_size() < std::min(2, request->page_size()); ++i) {
      v1::MigrationChange* change = response->add_changes();
      change->set_revision(size_ - i);
      change->set_data_center(request->data_center());
    }
    if (i < size_) response->set_next_page_token(std::to_string(i));
    return grpc::Status::OK;
  }

  const int size_;
};

MigrationClient::History HistoryOf(FakeHistory& service, int limit) {
  const Server server(service);
  const Remote remote(server.options());
  MigrationClient::History history;
  const grpc::Status status = MigrationClient(remote).GetHistory("ams", limit, history);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return history;
}

TEST(MigrationClientTest, TheHistoryEndsAtTheLimitAndSaysThatThereIsMore) {
  FakeHistory service(10);
  const MigrationClient::History history = HistoryOf(service, 5);
  ASSERT_EQ(history.changes.size(), 5U);
  EXPECT_EQ(history.changes.front().revision(), 10);
  EXPECT_EQ(history.changes.back().revision(), 6);
  EXPECT_EQ(history.changes.back().data_center(), "ams");
  EXPECT_TRUE(history.has_more);
  EXPECT_THAT(service.page_sizes, ElementsAre(5, 3, 1));
}

TEST(MigrationClientTest, TheHistoryEndsWhereThereAreNoOlderChanges) {
  FakeHistory service(3);
  const MigrationClient::History history = HistoryOf(service, 1'000'000);
  EXPECT_EQ(history.changes.size(), 3U);
  EXPECT_FALSE(history.has_more);
  EXPECT_THAT(service.page_sizes, ElementsAre(1000, 1000));
  FakeHistory exact(2);
  EXPECT_FALSE(HistoryOf(exact, 2).has_more);
}

// Serves ams, fra and lhr, one a page, and has the orphan `old`.
class FakeMigrations : public v1::MigrationService::Service {
 public:
  int lists = 0;

 private:
  static v1::Migration Migration(int index) {
    v1::Migration migration;
    constexpr std::array<const char*, 4> kNames = {"ams", "fra", "lhr", "old"};
    migration.set_data_center(kNames[static_cast<std::size_t>(index)]);
    migration.set_tier(index == 2 ? "large" : "canary");
    if (index != 3) migration.set_effective_v2_ppm(0);
    return migration;
  }
  grpc::Status GetMigration(grpc::ServerContext*, const v1::GetMigrationRequest* request,
                            v1::GetMigrationResponse* response) override {
    for (int i = 0; i < 4; ++i) {
      if (Migration(i).data_center() == request->data_center()) {
        *response->mutable_migration() = Migration(i);
        return grpc::Status::OK;
      }
    }
    return {grpc::StatusCode::NOT_FOUND, "the router's words"};
  }
  grpc::Status ListMigrations(grpc::ServerContext*, const v1::ListMigrationsRequest* request,
                              v1::ListMigrationsResponse* response) override {
    ++lists;
    const int i = Begin(request->page_token());
    *response->add_migrations() = Migration(i);
    if (i < 3) response->set_next_page_token(std::to_string(i + 1));
    return grpc::Status::OK;
  }
};

class SelectTest : public ::testing::Test {
 protected:
  // The names, or the error's message.
  std::vector<std::string> Select(const v1::Selector& selector) {
    const Server server(service_);
    const Remote remote(server.options());
    std::vector<v1::Migration> migrations;
    const grpc::Status status = MigrationClient(remote).Select(selector, migrations);
    if (!status.ok()) {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
      return {status.error_message()};
    }
    std::vector<std::string> names;
    for (const v1::Migration& migration : migrations) names.push_back(migration.data_center());
    return names;
  }
  static v1::Selector Named(const std::vector<std::string>& names) {
    v1::Selector selector;
    for (const std::string& name : names) selector.add_data_centers(name);
    return selector;
  }
  static v1::Selector OfTier(const std::string& tier) {
    v1::Selector selector;
    selector.set_tier(tier);
    return selector;
  }

  FakeMigrations service_;
};

TEST_F(SelectTest, NamesAreThoseAndOneNeedsNoList) {
  EXPECT_THAT(Select(Named({"lhr"})), ElementsAre("lhr"));
  EXPECT_EQ(service_.lists, 0);
  EXPECT_THAT(Select(Named({"lhr", "ams", "lhr"})), ElementsAre("ams", "lhr"));
  EXPECT_THAT(Select(Named({"ams", "nope"})), ElementsAre("the router's words"));
}

TEST_F(SelectTest, TiersAndAllAreOfWhatIsServed) {
  EXPECT_THAT(Select(OfTier("canary")), ElementsAre("ams", "fra"));
  EXPECT_THAT(Select(OfTier("nope")),
              ElementsAre("no data center of tier nope is served; tiers: canary, large"));
  v1::Selector all;
  all.set_all(true);
  EXPECT_THAT(Select(all), ElementsAre("ams", "fra", "lhr"));
}

// Has 5 nodes, 2 a page; the first `changes` times the data center changes before the second page.
class FakeTopology : public v1::TopologyService::Service {
 public:
  explicit FakeTopology(int changes) : changes_(changes) {}
  int calls = 0;

 private:
  grpc::Status GetTopology(grpc::ServerContext*, const v1::GetTopologyRequest* request,
                           v1::GetTopologyResponse* response) override {
    ++calls;
    constexpr int kNodes = 5;
    int i = Begin(request->page_token());
    if (i == 0) {
      response->add_pools()->set_name("default");
    } else if (changes_ > 0) {
      --changes_;
      return {grpc::StatusCode::ABORTED, "the data center has changed"};
    }
    response->mutable_data_center()->set_name(request->data_center());
    for (; i < kNodes && response->nodes_size() < 2; ++i) {
      response->add_nodes()->set_name("cache-" + std::to_string(i));
    }
    if (i < kNodes) response->set_next_page_token(std::to_string(i));
    return grpc::Status::OK;
  }
  grpc::Status ListDataCenters(grpc::ServerContext*, const v1::ListDataCentersRequest* request,
                               v1::ListDataCentersResponse* response) override {
    const bool is_first = request->page_token().empty();
    response->add_data_centers()->set_name(is_first ? "ams" : "fra");
    if (is_first) response->set_next_page_token("1");
    return grpc::Status::OK;
  }

  int changes_;
};

TEST(TopologyClientTest, AllPagesAreOneTopology) {
  FakeTopology service(0);
  const Server server(service);
  const Remote remote(server.options());
  v1::GetTopologyResponse topology;
  ASSERT_TRUE(TopologyClient(remote).Get("ams", topology).ok());
  EXPECT_EQ(service.calls, 3);
  EXPECT_EQ(topology.data_center().name(), "ams");
  EXPECT_EQ(topology.pools_size(), 1);
  ASSERT_EQ(topology.nodes_size(), 5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(topology.nodes(i).name(), "cache-" + std::to_string(i));
  EXPECT_EQ(topology.next_page_token(), "");
}

TEST(TopologyClientTest, AChangeBetweenPagesBeginsAgain) {
  FakeTopology service(2);
  const Server server(service);
  const Remote remote(server.options());
  v1::GetTopologyResponse topology;
  ASSERT_TRUE(TopologyClient(remote).Get("ams", topology).ok());
  EXPECT_EQ(service.calls, 2 + 2 + 3);
  EXPECT_EQ(topology.pools_size(), 1);
  EXPECT_EQ(topology.nodes_size(), 5);
}

TEST(TopologyClientTest, EndlessChangesEndInTheRoutersAnswer) {
  FakeTopology service(1000);
  const Server server(service);
  const Remote remote(server.options());
  v1::GetTopologyResponse topology;
  const grpc::Status status = TopologyClient(remote).Get("ams", topology);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(status.error_message(), "the data center has changed");
  EXPECT_EQ(service.calls, 2 * TopologyClient::kAttempts);
}

TEST(TopologyClientTest, AllPagesOfDataCentersAreRead) {
  FakeTopology service(0);
  const Server server(service);
  const Remote remote(server.options());
  std::vector<v1::DataCenterSummary> data_centers;
  ASSERT_TRUE(TopologyClient(remote).List(data_centers).ok());
  ASSERT_EQ(data_centers.size(), 2U);
  EXPECT_EQ(data_centers[1].name(), "fra");
}

}  // namespace
}  // namespace ringshift
