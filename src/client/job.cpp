#include "client/job.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "proto/client_group.hpp"
#include "wire/host_codec.hpp"

namespace sumac::client {
namespace {

struct RankHello {
  Report report;
  std::array<char, wire::kHostNameMax> host{};
  std::uint32_t channel = 0;
};

/// The announcement of the job: if the report is a success, the job's bytes follow.
struct JobNotice {
  Report report;
  std::uint64_t blob_bytes = 0;
};

class Writer {
 public:
  template <class T>
  void put(const T& value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
  }
  void put_text(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), from, from + text.size());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value{};
    if (bytes_.size() < sizeof value) {
      broken_ = true;
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  std::string get_text() {
    const auto length = get<std::uint32_t>();
    if (length > bytes_.size()) {
      broken_ = true;
      return {};
    }
    std::string text(reinterpret_cast<const char*>(bytes_.data()), length);
    bytes_ = bytes_.subspan(length);
    return text;
  }
  bool whole() const { return !broken_ && bytes_.empty(); }
  bool broken() const { return broken_; }

 private:
  std::span<const std::byte> bytes_;
  bool broken_ = false;
};

/// "SUMAJ1": the version of the layout, and of the rules by which members must act alike.
constexpr std::uint64_t kJobBlobMagic = 0x314a414d5553;

/// Each host once, in the order of first appearance, and the index of each rank's host.
struct Hosts {
  std::vector<std::string> names;
  std::vector<std::uint32_t> of_rank;

  /// Each rank has a connection of its own, so a port carries at most the ranks of the fullest host.
  std::uint32_t most_ranks() const {
    std::vector<std::uint32_t> ranks(names.size());
    for (const auto host : of_rank) ++ranks[host];
    return ranks.empty() ? 0 : *std::max_element(ranks.begin(), ranks.end());
  }
};

Hosts distinct_hosts(std::span<const RankHello> hellos) {
  Hosts hosts;
  std::unordered_map<std::string, std::uint32_t> index;
  for (const auto& hello : hellos) {
    std::string name(wire::get_text(hello.host));
    const auto [it, is_new] = index.try_emplace(name, static_cast<std::uint32_t>(hosts.names.size()));
    if (is_new) hosts.names.push_back(std::move(name));
    hosts.of_rank.push_back(it->second);
  }
  return hosts;
}

Outcome<JobTree> tree_of(const GrantedTree& granted, const Hosts& hosts) {
  JobTree tree;
  const auto& body = granted.tree;
  tree.id = body.tree_id;
  tree.index = body.tree_index;
  tree.root_node = body.root_node;
  tree.rate_bits_per_s = body.rate_bits_per_s;
  tree.delay_ns = body.delay_ns;
  tree.member_nodes = body.member_nodes;
  for (const auto& node : granted.nodes) {
    tree.nodes.push_back({node.node_id, node.parent_id});
    tree.node_name.emplace_back(wire::get_text(node.name));
    tree.node_address.emplace_back(wire::get_text(node.address));
  }
  // A leaf that is no node would otherwise be found only when the first communicator is made; report it here, where the
  // manager is known to be the cause.
  for (std::size_t host = 0; host < hosts.names.size(); ++host)
    if (tree.address_of(granted.host_leaf[host]) == nullptr)
      return failure(SHARP_COLL_ENOTREE,
                     "host {} hangs on node {}, which tree {} does not have; check the fabric file of sharp_am",
                     hosts.names[host], granted.host_leaf[host], tree.id);
  for (const auto host : hosts.of_rank) tree.rank_leaf.push_back(granted.host_leaf[host]);
  return tree;
}

/// SHARP_COLL_GROUP_RESOURCE_POLICY: the most OSTs that one group may use of the job's; 0: the equal share.
std::uint32_t osts_by_policy(const ClientConfig& config, std::uint32_t granted) {
  if (config.osts_per_group != 0) return config.osts_per_group;
  switch (config.group_resource_policy) {
    case 0: return granted;
    case 2:
      return config.group_quota_percent == 0
                 ? 0
                 : std::max<std::uint32_t>(
                       1, static_cast<std::uint32_t>(std::uint64_t{granted} * config.group_quota_percent / 100));
    default: return 0;
  }
}

/// Rank 0 asks the manager, and converts the answer to the form that all ranks get.
Outcome<Job> ask_for_job(std::span<const RankHello> hellos, Session& session, std::uint64_t job_id,
                         const std::string& devices, const ClientConfig& config, const Logger& log) {
  const Hosts hosts = distinct_hosts(hellos);
  wire::JobBeginBody wish;
  std::uint32_t channels = 1;
  for (const auto& hello : hellos) channels = std::max(channels, hello.channel + 1);
  // The library asks for the amounts that it knows itself; the manager fills in only shares (0).
  wish.wish = {config.quota_osts,
               config.quota_payload,
               config.quota_groups,
               config.quota_qps != 0 ? config.quota_qps : hosts.most_ranks(),
               channels,
               config.trees_wished()};
  wish.world_size = static_cast<std::uint32_t>(hellos.size());
  wish.host_count = static_cast<std::uint32_t>(hosts.names.size());
  wish.features = SHARP_FEATURE_LLT | (config.enable_sat ? SHARP_FEATURE_SAT : 0) |
                  (config.reproducible ? SHARP_FEATURE_REPRODUCIBLE : 0);
  if (!wire::put_text(wish.devices, devices))
    return failure(SHARP_COLL_EDEV, "the list of devices {} is longer than {} letters", devices, wire::kDevicesMax - 1);
  SUMAC_INFO(log,
             "job (ID: {}) resource request quota: ( osts:{} user_data_per_ost:{} max_groups:{} max_qps:{} "
             "max_group_channels:{}, num_trees:{})",
             job_id, wish.wish.osts, wish.wish.payload_per_ost, wish.wish.max_groups, wish.wish.max_qps,
             wish.wish.max_group_channels, wish.wish.num_trees);
  auto grant = session.begin_job(job_id, wish, hosts.names, config.job_create_timeout);
  if (!grant) return tl::unexpected(grant.error());
  const auto give_back = [&] {
    if (auto ended = session.end_job(job_id, config.job_create_timeout); !ended)
      SUMAC_WARN(log, "{}", ended.error().text);
  };
  if (config.reproducible && (grant->job.features & SHARP_FEATURE_REPRODUCIBLE) == 0) {
    give_back();
    return failure(
        SHARP_COLL_ENOT_SUPP,
        "SUMAC_REPRODUCIBLE=1, but sharp_am does not grant reproducible sums: update sharp_am and sharpd, or unset it");
  }
  const auto& g = grant->job.grant;
  Job job;
  job.id = job_id;
  job.grant = grant->job;
  job.enable_sat = config.enable_sat;
  job.sat_threshold = config.sat_threshold.count;
  job.osts_per_group = osts_by_policy(config, g.osts);
  job.lock_batch = config.sat_lock_batch;
  job.lock_on_comm_init = config.lock_on_comm_init;
  job.fabric = {grant->job.host_rate_bits_per_s, static_cast<std::uint32_t>(hosts.names.size()), grant->job.rails,
                grant->job.nodes_on_member_hosts};
  for (const auto& granted : grant->trees) {
    auto tree = tree_of(granted, hosts);
    if (!tree) {
      give_back();
      return tl::unexpected(tree.error());
    }
    job.trees.push_back(*std::move(tree));
  }
  return job;
}

}  // namespace

bool Job::reproducible() const { return (grant.features & SHARP_FEATURE_REPRODUCIBLE) != 0; }

std::uint32_t Job::group_osts() const {
  const auto share = proto::ost_share(grant.grant.osts, std::max(1u, grant.grant.max_groups));
  const auto cap = std::min(share, std::max(1u, grant.grant.osts));
  return osts_per_group == 0 ? cap : std::min(osts_per_group, std::max(1u, grant.grant.osts));
}

std::uint32_t JobTree::connections() const {
  std::uint32_t most = 1;
  for (auto node = nodes.begin(); node != nodes.end(); ++node) {
    std::uint32_t count = 1;
    // The loop is bounded, because data from another process may have a cycle. Groups are refused then
    // (proto::compute_path).
    for (auto at = node; at->parent_id != at->node_id && count < wire::kPathMax; ++count) {
      const auto parent = std::ranges::find(nodes, at->parent_id, &proto::NodeParent::node_id);
      if (parent == nodes.end()) break;
      at = parent;
    }
    most = std::max(most, count);
  }
  return most;
}

const std::string* JobTree::address_of(std::uint32_t node_id) const {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].node_id == node_id) return &node_address[i];
  return nullptr;
}

const std::string* JobTree::name_of(std::uint32_t node_id) const {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].node_id == node_id) return &node_name[i];
  return nullptr;
}

namespace {

void put_tree(Writer& out, const JobTree& tree) {
  out.put(tree.id);
  out.put(tree.index);
  out.put(tree.root_node);
  out.put(tree.member_nodes);
  out.put(tree.rate_bits_per_s);
  out.put(tree.delay_ns);
  out.put(static_cast<std::uint32_t>(tree.nodes.size()));
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    out.put(tree.nodes[i]);
    out.put_text(tree.node_name[i]);
    out.put_text(tree.node_address[i]);
  }
  out.put(static_cast<std::uint32_t>(tree.rank_leaf.size()));
  for (const auto leaf : tree.rank_leaf) out.put(leaf);
}

JobTree get_tree(Reader& in) {
  JobTree tree;
  tree.id = in.get<std::uint32_t>();
  tree.index = in.get<std::uint32_t>();
  tree.root_node = in.get<std::uint32_t>();
  tree.member_nodes = in.get<std::uint32_t>();
  tree.rate_bits_per_s = in.get<std::uint64_t>();
  tree.delay_ns = in.get<std::uint64_t>();
  for (auto nodes = in.get<std::uint32_t>(); nodes > 0 && !in.broken(); --nodes) {
    tree.nodes.push_back(in.get<proto::NodeParent>());
    tree.node_name.push_back(in.get_text());
    tree.node_address.push_back(in.get_text());
  }
  for (auto ranks = in.get<std::uint32_t>(); ranks > 0 && !in.broken(); --ranks)
    tree.rank_leaf.push_back(in.get<std::uint32_t>());
  return tree;
}

}  // namespace

std::vector<std::byte> encode_job(const Job& job) {
  Writer out;
  out.put(kJobBlobMagic);
  out.put(job.id);
  out.put(job.grant);
  out.put(static_cast<std::uint32_t>(job.enable_sat));
  out.put(job.osts_per_group);
  out.put(job.lock_batch);
  out.put(static_cast<std::uint32_t>(job.lock_on_comm_init));
  out.put(job.sat_threshold);
  out.put(job.fabric.host_rate_bits_per_s);
  out.put(job.fabric.hosts);
  out.put(job.fabric.rails);
  out.put(job.fabric.nodes_on_member_hosts);
  out.put(static_cast<std::uint32_t>(job.trees.size()));
  for (const auto& tree : job.trees) put_tree(out, tree);
  return out.take();
}

Outcome<Job> decode_job(std::span<const std::byte> bytes) {
  Reader in(bytes);
  if (in.get<std::uint64_t>() != kJobBlobMagic)
    return failure(SHARP_COLL_ETREE_INFO,
                   "job data of world rank 0 are of another version; use the same libsharp_coll on all hosts");
  Job job;
  job.id = in.get<std::uint64_t>();
  job.grant = in.get<wire::JobGrantedBody>();
  job.enable_sat = in.get<std::uint32_t>() != 0;
  job.osts_per_group = in.get<std::uint32_t>();
  job.lock_batch = in.get<std::uint32_t>();
  job.lock_on_comm_init = in.get<std::uint32_t>() != 0;
  job.sat_threshold = in.get<std::uint64_t>();
  job.fabric.host_rate_bits_per_s = in.get<std::uint64_t>();
  job.fabric.hosts = in.get<std::uint32_t>();
  job.fabric.rails = in.get<std::uint32_t>();
  job.fabric.nodes_on_member_hosts = in.get<std::uint32_t>();
  for (auto trees = in.get<std::uint32_t>(); trees > 0 && !in.broken(); --trees) job.trees.push_back(get_tree(in));
  if (!in.whole()) return failure(SHARP_COLL_ETREE_INFO, "job data of world rank 0 are cut short or too long");
  if (job.trees.empty()) return failure(SHARP_COLL_ENOTREE, "the job of world rank 0 has no tree");
  for (const auto& tree : job.trees)
    if (tree.rank_leaf.size() != job.trees.front().rank_leaf.size())
      return failure(SHARP_COLL_ETREE_INFO,
                     "the trees of world rank 0's job have places for different numbers of ranks");
  return job;
}

Outcome<std::vector<std::byte>> begin_job(const Oob& oob, const Outcome<>& local, Session* session,
                                          std::uint64_t job_id, const Member& member, const ClientConfig& config,
                                          const Logger& log) {
  RankHello hello;
  hello.channel = member.channel;
  hello.report = Report::of(local);
  if (local && !wire::put_text(hello.host, session->host()))
    hello.report = Report::of(failure(SHARP_COLL_ESESS_INIT, "sharpd gives this host the name '{}'", session->host()));
  auto hellos = oob.gather(hello);
  if (!hellos) return tl::unexpected(hellos.error());

  JobNotice notice;
  std::vector<std::byte> blob;
  if (oob.rank() == 0) {
    std::vector<Report> reports;
    for (const auto& each : *hellos) reports.push_back(each.report);
    notice.report = first_failure(reports);
    if (notice.report.status == 0) {
      auto job = ask_for_job(*hellos, *session, job_id, member.devices, config, log);
      if (job)
        blob = encode_job(*job);
      else
        notice.report = Report::of(tl::unexpected(job.error()));
    }
    notice.blob_bytes = blob.size();
  }
  if (auto told = oob.bcast_value(notice); !told) return tl::unexpected(told.error());
  if (auto all_well = notice.report.outcome(); !all_well) return tl::unexpected(all_well.error());
  blob.resize(notice.blob_bytes);
  if (auto told = oob.bcast(blob); !told) return tl::unexpected(told.error());
  return blob;
}

}  // namespace sumac::client
