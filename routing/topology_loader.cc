#include "routing/topology_loader.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "routing/internal/yaml_reader.h"
#include "routing/internal/yaml_tree.h"
#include "routing/pool_balance.h"

namespace ringshift {
namespace {

using internal::kOptional;
using internal::kRequired;
using internal::Place;
using internal::YamlNode;
using internal::YamlReader;

static_assert(kMaxTopologyBytes == internal::kMaxYamlBytes);
constexpr std::size_t kMaxNodeNameBytes = 253;
constexpr std::size_t kMaxAddressBytes = 512;

// Of data centers and tiers.
constexpr YamlReader::Alphabet kGroupName = {
    .capitals = false, .others = "-", .max_bytes = 63, .expected = "1 to 63 of a-z, 0-9 and -"};
// Of pools, features and zones.
constexpr YamlReader::Alphabet kLabel = {.capitals = true,
                                         .others = "._-",
                                         .max_bytes = 63,
                                         .expected = "1 to 63 of A-Z, a-z, 0-9, ., _ and -"};

// A data center and where its parts stand.
struct PlacedDataCenter {
  DataCenterSpec spec;
  std::vector<Place> identities;  // by node: of its ring identity, or else of its address
  std::vector<Place> pools;       // by pool: of its name
  Place v1;
  Place v2;
};

class Loader {
 public:
  explicit Loader(std::string_view file) : reader_(file) {}

  absl::StatusOr<LoadedTopology> Load(const YamlNode& root) {
    const YamlNode* data_centers = nullptr;
    absl::Status status =
        reader_.ReadMap(root, "the topology", {{"data_centers", kRequired, &data_centers}});
    if (!status.ok()) return status;
    if (data_centers->kind != YamlNode::Kind::kList || data_centers->items.empty()) {
      return reader_.Unexpected(*data_centers, "data_centers",
                                "a list of at least one data center");
    }
    LoadedTopology loaded;
    Names names;
    for (const YamlNode& item : data_centers->items) {
      absl::StatusOr<PlacedDataCenter> data_center = ReadDataCenter(item, names);
      if (!data_center.ok()) return data_center.status();
      if (status = CheckRings(*data_center); !status.ok()) return status;
      loaded.topology.data_centers.push_back(std::move(data_center->spec));
    }
    std::stable_sort(warnings_.begin(), warnings_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [place, text] : warnings_) {
      loaded.warnings.push_back(absl::StrCat(reader_.PlaceName(place), ": ", text));
    }
    return loaded;
  }

 private:
  using Names = std::map<std::string, Place, std::less<>>;

  // Enters a name, or refuses it where it is taken.
  absl::Status Take(const YamlNode& node, std::string_view kind, const std::string& name,
                    Names& names) {
    const auto [entry, is_new] = names.emplace(name, node.place);
    if (is_new) return absl::OkStatus();
    return reader_.Error(
        node.place,
        absl::StrCat("a second ", absl::string_view(kind.data(), kind.size()), " called ", name,
                     ", first at ", reader_.PlaceName(entry->second)),
        "another name");
  }

  absl::StatusOr<PlacedDataCenter> ReadDataCenter(const YamlNode& node, Names& names) {
    const YamlNode* name = nullptr;
    const YamlNode* tier = nullptr;
    const YamlNode* style = nullptr;
    const YamlNode* nodes = nullptr;
    const YamlNode* pools = nullptr;
    const YamlNode* rings = nullptr;
    absl::Status status = reader_.ReadMap(node, "a data center",
                                          {{"name", kRequired, &name},
                                           {"tier", kOptional, &tier},
                                           {"identity_style", kOptional, &style},
                                           {"nodes", kRequired, &nodes},
                                           {"pools", kOptional, &pools},
                                           {"rings", kOptional, &rings}});
    if (!status.ok()) return status;

    PlacedDataCenter placed;
    DataCenterSpec& spec = placed.spec;
    absl::StatusOr<std::string> text = reader_.ReadName(*name, "name of a data center", kGroupName);
    if (!text.ok()) return text.status();
    spec.name = *std::move(text);
    if (spec.name == kOtherDataCenter) {
      return reader_.Error(name->place, "the name other, under which metrics count unknown ones",
                           "another name");
    }
    if (status = Take(*name, "data center", spec.name, names); !status.ok()) return status;
    if (tier != nullptr) {
      text = reader_.ReadName(*tier, "tier", kGroupName);
      if (!text.ok()) return text.status();
      spec.tier = *std::move(text);
    }
    if (style != nullptr) {
      if (status = ReadIdentityStyle(*style, spec.identity_style); !status.ok()) return status;
    }
    // Before the nodes: what a weight means depends on them.
    placed.v1 = placed.v2 = node.place;
    if (status = ReadRings(rings, placed); !status.ok()) return status;
    if (status = ReadNodes(*nodes, placed); !status.ok()) return status;
    if (pools != nullptr) {
      if (status = ReadPools(*pools, placed); !status.ok()) return status;
    }
    return placed;
  }

  absl::Status ReadIdentityStyle(const YamlNode& node, IdentityStyle& style) {
    if (node.kind == YamlNode::Kind::kText && node.text == "canonical") {
      style = IdentityStyle::kCanonical;
    } else if (node.kind == YamlNode::Kind::kText && node.text == "nginx") {
      style = IdentityStyle::kNginx;
    } else {
      return reader_.Unexpected(node, "identity_style", "canonical or nginx");
    }
    return absl::OkStatus();
  }

  // `rings` is null where the data center has none written down.
  absl::Status ReadRings(const YamlNode* rings, PlacedDataCenter& placed) {
    placed.spec.v1 = DefaultRingParameters(RingVersion::kV1);
    placed.spec.v2 = DefaultRingParameters(RingVersion::kV2);
    if (rings == nullptr) return absl::OkStatus();
    const YamlNode* v1 = nullptr;
    const YamlNode* v2 = nullptr;
    absl::Status status =
        reader_.ReadMap(*rings, "rings", {{"v1", kOptional, &v1}, {"v2", kOptional, &v2}});
    if (!status.ok()) return status;
    if (v1 != nullptr && v1->kind == YamlNode::Kind::kText && v1->text == "none") {
      placed.spec.v1.reset();
    } else if (v1 != nullptr) {
      placed.v1 = v1->place;
      status = ReadRing(*v1, "ring v1 (or the word none)", *placed.spec.v1);
      if (!status.ok()) return status;
    }
    if (v2 != nullptr) {
      placed.v2 = v2->place;
      if (status = ReadRing(*v2, "ring v2", placed.spec.v2); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status ReadRing(const YamlNode& node, std::string_view what, RingParameters& parameters) {
    const YamlNode* points = nullptr;
    const YamlNode* layout = nullptr;
    absl::Status status = reader_.ReadMap(
        node, what, {{"points_per_weight", kOptional, &points}, {"layout", kOptional, &layout}});
    if (!status.ok()) return status;
    if (points != nullptr) {
      absl::StatusOr<std::uint32_t> number =
          reader_.ReadWholeNumber(*points, "points_per_weight", 1, Ring::kMaxPointsPerWeight);
      if (!number.ok()) return number.status();
      parameters.points_per_weight = *number;
    }
    if (layout != nullptr) return ReadLayout(*layout, parameters.layout);
    return absl::OkStatus();
  }

  absl::Status ReadLayout(const YamlNode& node, RingLayout& layout) {
    if (node.kind == YamlNode::Kind::kText) {
      for (const RingLayout known : kRingLayouts) {
        if (node.text == RingLayoutName(known)) {
          layout = known;
          return absl::OkStatus();
        }
      }
    }
    return reader_.Unexpected(node, "layout", "wide, packed or dense");
  }

  absl::Status ReadNodes(const YamlNode& list, PlacedDataCenter& placed) {
    const std::string what = absl::StrCat("nodes of data center ", placed.spec.name);
    if (list.kind != YamlNode::Kind::kList || list.items.empty()) {
      return reader_.Unexpected(list, what, "a list of at least one node");
    }
    if (list.items.size() > NodeSet::kMaxNodes) {
      return reader_.Error(list.place, absl::StrCat(what, ": found ", list.items.size()),
                           absl::StrCat("at most ", NodeSet::kMaxNodes));
    }
    Names names;
    std::map<RingIdentity, std::size_t> identities;
    for (const YamlNode& item : list.items) {
      absl::Status status = ReadNode(item, placed, names);
      if (!status.ok()) return status;
      if (status = TakeIdentity(placed, identities); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Appends the node to `placed`.
  absl::Status ReadNode(const YamlNode& item, PlacedDataCenter& placed, Names& names) {
    const YamlNode* name = nullptr;
    const YamlNode* address = nullptr;
    const YamlNode* weight = nullptr;
    const YamlNode* features = nullptr;
    const YamlNode* zone = nullptr;
    const YamlNode* identity = nullptr;
    absl::Status status = reader_.ReadMap(item, "a node",
                                          {{"name", kRequired, &name},
                                           {"address", kRequired, &address},
                                           {"weight", kOptional, &weight},
                                           {"features", kOptional, &features},
                                           {"zone", kOptional, &zone},
                                           {"ring_identity", kOptional, &identity}});
    if (!status.ok()) return status;

    NodeSpec& node = placed.spec.nodes.emplace_back();
    absl::StatusOr<std::string> text =
        reader_.ReadToken(*name, "name of a node", kMaxNodeNameBytes);
    if (!text.ok()) return text.status();
    node.name = *std::move(text);
    if (status = Take(*name, "node", node.name, names); !status.ok()) return status;

    text = ReadAddress(*address, "address", node.name, placed.spec.identity_style);
    if (!text.ok()) return text.status();
    node.address = *std::move(text);
    if (identity != nullptr) {
      text = ReadAddress(*identity, "ring_identity", node.name, placed.spec.identity_style);
      if (!text.ok()) return text.status();
      node.ring_identity = *std::move(text);
    }
    placed.identities.push_back(identity != nullptr ? identity->place : address->place);

    if (weight != nullptr) {
      if (status = ReadWeight(*weight, placed.spec, node); !status.ok()) return status;
    }
    if (features != nullptr) {
      status = ReadFeatures(*features, absl::StrCat("features of node ", node.name), node.features);
      if (!status.ok()) return status;
    }
    if (zone != nullptr) {
      text = reader_.ReadName(*zone, absl::StrCat("zone of node ", node.name), kLabel);
      if (!text.ok()) return text.status();
      node.zone = *std::move(text);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadAddress(const YamlNode& node, std::string_view key,
                                          const std::string& node_name, IdentityStyle style) {
    const std::string what =
        absl::StrCat(absl::string_view(key.data(), key.size()), " of node ", node_name);
    absl::StatusOr<std::string> text = reader_.ReadToken(node, what, kMaxAddressBytes);
    if (!text.ok()) return text.status();
    if (absl::StatusOr<RingIdentity> identity = RingIdentity::Parse(*text, style); !identity.ok()) {
      return reader_.Error(node.place, absl::StrCat(what, ": ", identity.status().message()));
    }
    return text;
  }

  absl::Status ReadWeight(const YamlNode& node, const DataCenterSpec& data_center,
                          NodeSpec& node_spec) {
    const std::string what = absl::StrCat("weight of node ", node_spec.name);
    const std::optional<std::uint64_t> weight = YamlReader::WholeNumber(node);
    const bool is_countable =  // without a wrap
        weight && *weight <= std::numeric_limits<std::uint64_t>::max() / Ring::kMaxPointsPerWeight;
    if (is_countable && (*weight < 1 || *weight > NodeSet::kMaxWeight)) {
      std::string found = absl::StrCat(what, ": found ", *weight, ", which is ");
      if (data_center.v1) {
        absl::StrAppend(&found, *weight * data_center.v1->points_per_weight,
                        " points on ring v1 and ");
      }
      absl::StrAppend(&found, *weight * data_center.v2.points_per_weight, " points on ring v2");
      return reader_.Error(node.place, found,
                           absl::StrCat("a whole number from 1 to ", NodeSet::kMaxWeight));
    }
    absl::StatusOr<std::uint32_t> number =
        reader_.ReadWholeNumber(node, what, 1, NodeSet::kMaxWeight);
    if (!number.ok()) return number.status();
    node_spec.weight = *number;
    return absl::OkStatus();
  }

  absl::Status ReadFeatures(const YamlNode& list, const std::string& what,
                            std::vector<std::string>& features) {
    if (list.kind != YamlNode::Kind::kList) {
      return reader_.Unexpected(list, what, "a list of features");
    }
    Names names;
    for (const YamlNode& item : list.items) {
      absl::StatusOr<std::string> feature = reader_.ReadName(item, what, kLabel);
      if (!feature.ok()) return feature.status();
      const absl::Status status = Take(item, "feature", *feature, names);
      if (!status.ok()) return status;
      features.push_back(*std::move(feature));
    }
    return absl::OkStatus();
  }

  // Enters the ring identity of the last node of `placed`, or refuses it where it is taken.
  absl::Status TakeIdentity(const PlacedDataCenter& placed,
                            std::map<RingIdentity, std::size_t>& identities) {
    const std::vector<NodeSpec>& nodes = placed.spec.nodes;
    const std::size_t last = nodes.size() - 1;
    absl::StatusOr<RingIdentity> identity = RingIdentity::Parse(
        nodes[last].ring_identity.value_or(nodes[last].address), placed.spec.identity_style);
    if (!identity.ok()) return identity.status();
    const Place place = placed.identities[last];
    if (HasStuckChain(*identity)) {
      Warn(place,
           absl::StrCat("data center ", placed.spec.name, ": the points of node ", nodes[last].name,
                        " all fall on one place (ring identity ", identity->ToString(),
                        "), so it gets almost no keys; give it another ring_identity"));
    }
    const auto [entry, is_new] = identities.emplace(*identity, last);
    if (is_new) return absl::OkStatus();
    return reader_.Error(
        place,
        absl::StrCat("node ", nodes[last].name, " has the ring identity of node ",
                     nodes[entry->second].name, " (", identity->ToString(), "), which stands at ",
                     reader_.PlaceName(placed.identities[entry->second])),
        "another address, or a ring_identity on one of the two");
  }

  absl::Status ReadPools(const YamlNode& list, PlacedDataCenter& placed) {
    const std::string what = absl::StrCat("pools of data center ", placed.spec.name);
    if (list.kind != YamlNode::Kind::kList) {
      return reader_.Unexpected(list, what, "a list of pools");
    }
    Names names;
    for (const YamlNode& item : list.items) {
      const YamlNode* name = nullptr;
      const YamlNode* features = nullptr;
      absl::Status status = reader_.ReadMap(
          item, "a pool",
          {{"name", kRequired, &name}, {"required_features", kRequired, &features}});
      if (!status.ok()) return status;
      PoolSpec& pool = placed.spec.pools.emplace_back();
      absl::StatusOr<std::string> text = reader_.ReadName(*name, "name of a pool", kLabel);
      if (!text.ok()) return text.status();
      pool.name = *std::move(text);
      if (pool.name == kDefaultPool) {
        return reader_.Error(name->place,
                             "the pool default, which every data center has: all nodes",
                             "another name");
      }
      if (status = Take(*name, "pool", pool.name, names); !status.ok()) return status;
      const std::string features_of = absl::StrCat("required_features of pool ", pool.name);
      status = ReadFeatures(*features, features_of, pool.required_features);
      if (!status.ok()) return status;
      if (pool.required_features.empty()) {
        return reader_.Unexpected(*features, features_of,
                                  "at least one feature; the pool of all nodes is default");
      }
      placed.pools.push_back(name->place);
    }
    return absl::OkStatus();
  }

  // What only all nodes together show: rings beyond the limits; warnings about balance and pools.
  absl::Status CheckRings(const PlacedDataCenter& placed) {
    const DataCenterSpec& spec = placed.spec;
    absl::StatusOr<std::shared_ptr<const NodeSet>> nodes = MakeNodeSet(spec);
    if (!nodes.ok()) return reader_.Error(placed.v2, absl::StrCat(nodes.status().message()));
    if (spec.v1) {
      const absl::Status status = CheckRing(spec.name, **nodes, *spec.v1, placed.v1);
      if (!status.ok()) return status;
    }
    if (absl::Status status = CheckRing(spec.name, **nodes, spec.v2, placed.v2); !status.ok()) {
      return status;
    }
    for (std::size_t i = 0; i < spec.pools.size(); ++i) {
      absl::StatusOr<NodeMask> mask = MakePoolMask(spec, **nodes, spec.pools[i].name);
      if (mask.ok() && mask->count() == 0) {
        Warn(placed.pools[i],
             absl::StrCat("data center ", spec.name, ": no node has the features of pool ",
                          spec.pools[i].name, ", so its requests fail"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckRing(const std::string& data_center, const NodeSet& nodes,
                         const RingParameters& parameters, Place place) {
    const std::string_view version = RingVersionName(parameters.version);
    const std::string ring = absl::StrCat("data center ", data_center, ", ring ",
                                          absl::string_view(version.data(), version.size()));
    if (absl::StatusOr<RingSize> size = Ring::Measure(nodes, parameters); !size.ok()) {
      return reader_.Error(place, absl::StrCat(ring, ": ", size.status().message()));
    }
    if (const std::string warning = BalanceWarning(nodes, parameters); !warning.empty()) {
      Warn(place, absl::StrCat(ring, ": ", warning));
    }
    return absl::OkStatus();
  }

  void Warn(Place place, std::string text) { warnings_.emplace_back(place, std::move(text)); }

  const YamlReader reader_;
  std::vector<std::pair<Place, std::string>> warnings_;
};

}  // namespace

absl::StatusOr<LoadedTopology> ParseTopology(std::string_view yaml, std::string_view file) {
  absl::StatusOr<YamlNode> root = internal::ParseYaml(yaml, file);
  if (!root.ok()) return root.status();
  return Loader(file).Load(*root);
}

absl::StatusOr<LoadedTopology> LoadTopologyFile(const std::string& path) {
  const auto failure = [&path] {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read the topology ", path));
  };
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (file == nullptr) return failure();
  std::error_code no_size;  // a pipe has none; ParseYaml counts what comes out of it
  const std::uintmax_t size = std::filesystem::file_size(path, no_size);
  if (!no_size && size > internal::kMaxYamlBytes) return internal::TooLargeError(path, size);
  std::string yaml;
  std::vector<char> chunk(std::size_t{1} << 16);
  while (yaml.size() <= internal::kMaxYamlBytes) {
    const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), file.get());
    yaml.append(chunk.data(), count);
    if (count < chunk.size()) break;
  }
  if (std::ferror(file.get()) != 0) return failure();
  return ParseTopology(yaml, path);
}

}  // namespace ringshift
