#include "tests/bench/questions.h"

#include <string>

namespace ringshift::bench {
namespace {

std::string Describe(const std::string& owner, v1::RingVersion version) {
  return "\"" + owner + "\" of " + v1::RingVersion_Name(version);
}

absl::Status CheckKey(const Workload& workload, std::size_t key, const std::string& owner,
                      v1::RingVersion version) {
  if (owner == workload.owners[key] && version == workload.ring_versions[key]) {
    return absl::OkStatus();
  }
  return absl::InternalError("wrong answer: " + workload.keys[key] + " is " +
                             Describe(owner, version) + "; right is " +
                             Describe(workload.owners[key], workload.ring_versions[key]));
}

}  // namespace

RouteQuestions::RouteQuestions(const Workload& workload) : workload_(workload) {
  request_.set_data_center(std::string(kDataCenter));
}

const v1::RouteRequest& RouteQuestions::Ask(std::size_t index) {
  request_.set_key(workload_.keys[index % workload_.keys.size()]);
  return request_;
}

absl::Status RouteQuestions::Check(std::size_t index, const v1::RouteResponse& response) const {
  const std::size_t key = index % workload_.keys.size();
  const std::string& previous_owner = response.previous_owner().name();
  if (previous_owner != workload_.previous_owners[key]) {
    return absl::InternalError("wrong answer: " + workload_.keys[key] +
                               " has the previous owner \"" + previous_owner + "\"; right is \"" +
                               workload_.previous_owners[key] + "\"");
  }
  return CheckKey(workload_, key, response.owner().name(), response.ring_version());
}

BatchQuestions::BatchQuestions(const Workload& workload, std::size_t batch_keys)
    : workload_(workload), batch_keys_(batch_keys) {
  for (std::size_t key = 0; key < workload.keys.size(); key += batch_keys) {
    v1::RouteBatchRequest& request = requests_.emplace_back();
    request.set_data_center(std::string(kDataCenter));
    for (std::size_t i = 0; i < batch_keys; ++i) request.add_keys(workload.keys[key + i]);
  }
}

absl::Status BatchQuestions::Check(std::size_t index,
                                   const v1::RouteBatchResponse& response) const {
  const auto count = static_cast<int>(batch_keys_);
  if (response.node_indexes_size() != count || response.ring_versions_size() != count) {
    return absl::InternalError("wrong answer: a batch of " + std::to_string(count) + " keys got " +
                               std::to_string(response.node_indexes_size()) + " owners and " +
                               std::to_string(response.ring_versions_size()) + " ring versions");
  }
  const std::size_t first_key = index % requests_.size() * batch_keys_;
  for (int i = 0; i < count; ++i) {
    const int node = response.node_indexes(i);
    if (node < 0 || node >= response.nodes_size()) {
      return absl::InternalError("wrong answer: node index " + std::to_string(node) + " of " +
                                 std::to_string(response.nodes_size()));
    }
    absl::Status right = CheckKey(workload_, first_key + static_cast<std::size_t>(i),
                                  response.nodes(node).name(), response.ring_versions(i));
    if (!right.ok()) return right;
  }
  return absl::OkStatus();
}

}  // namespace ringshift::bench
