#include "tests/integration/router_process.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace ringshift::testing {
namespace {

constexpr std::string_view kPublicFlag = "--public-address=";

std::vector<std::string> CommandLine(const std::string& topology_path,
                                     const std::string& store_path,
                                     const std::vector<std::string>& more_flags,
                                     std::vector<std::string> argv) {
  const std::vector<std::string> flags = {
      Binary("ringshiftd"), "--topology=" + topology_path,
      (store_path.starts_with("etcd://") ? "--store=" : "--store=sqlite:") + store_path,
      "--admin-address=127.0.0.1:0", "--http-address=127.0.0.1:0"};
  argv.insert(argv.end(), flags.begin(), flags.end());
  argv.insert(argv.end(), more_flags.begin(), more_flags.end());
  const auto is_public = [](const std::string& flag) { return flag.starts_with(kPublicFlag); };
  if (std::none_of(more_flags.begin(), more_flags.end(), is_public)) {
    argv.push_back(std::string(kPublicFlag) + "127.0.0.1:0");
  }
  return argv;
}

}  // namespace

std::string SmallTopology() {
  std::string yaml = "data_centers:\n  - name: ams\n    tier: canary\n    nodes:\n";
  for (int i = 0; i < 10; ++i) {
    const std::string n = std::to_string(i);
    yaml += "      - {name: cache-" + n + ", address: \"10.0.0." + n + ":443\", weight: 10" +
            (i % 3 == 0 ? ", features: [fedramp]" : "") + "}\n";
  }
  yaml += R"(    pools:
      - {name: fedramp, required_features: [fedramp]}
      - {name: nowhere, required_features: [antarctica]}
  - name: fra
    tier: large
    nodes:
      - {name: fra-0, address: "10.1.0.0:443", weight: 10}
      - {name: fra-1, address: "10.1.0.1:443", weight: 10}
      - {name: fra-2, address: "10.1.0.2:443", weight: 20}
      - {name: fra-3, address: "10.1.0.3:443", weight: 20}
  - name: new
    nodes:
      - {name: new-0, address: "10.2.0.0:443", weight: 10}
      - {name: new-1, address: "10.2.0.1:443", weight: 10}
      - {name: new-2, address: "10.2.0.2:443", weight: 10}
    rings:
      v1: none
)";
  return yaml;
}

RouterProcess::RouterProcess(const std::string& topology_path, const std::string& store_path,
                             const std::vector<std::string>& more_flags,
                             const std::vector<std::string>& wrapper)
    : process_(CommandLine(topology_path, store_path, more_flags, wrapper)) {
  const std::optional<std::string> line = process_.WaitForStderr("msg=\"listening\"");
  if (!line) {
    ADD_FAILURE() << "ringshiftd does not listen:\n" << process_.Stderr();
    return;
  }
  public_address_ = LogValue(*line, "public");
  admin_address_ = LogValue(*line, "admin");
  http_address_ = LogValue(*line, "http");
}

void RouterProcess::WaitUntilReady() {
  if (!process_.WaitForStderr("msg=\"ready\"")) {
    ADD_FAILURE() << "ringshiftd does not become ready:\n" << process_.Stderr();
  }
}

std::string RouterProcess::Get(const std::string& path) const {
  httplib::Client client("http://" + http_address_);
  client.set_read_timeout(kPatience);
  const httplib::Result result = client.Get(path);
  if (!result || result->status != 200) {
    ADD_FAILURE() << "GET " << path << ": "
                  << (result ? std::to_string(result->status) : httplib::to_string(result.error()));
    return "";
  }
  return result->body;
}

std::shared_ptr<grpc::Channel> RouterProcess::NewChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace ringshift::testing
