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

/// The front of a job's bytes. HostMessages follow, then the hosts' names, each with a zero byte behind it and more of
/// them up to a whole number of indices, and then the index of each rank's host.
struct JobHead {
  /// "SUMAJ2": this layout, and the rules by which members must act alike. "SUMAJR": so with recovery, which ranks with
  /// an older library must not join.
  static constexpr std::uint64_t kPlain = 0x324a414d5553, kRecovers = 0x524a414d5553;
  std::uint64_t magic = kPlain;
  JobId job_id{};
  JobSettings settings;
  std::uint32_t hosts = 0, messages = 0;
  std::uint32_t name_bytes = 0, reserved = 0;
};
static_assert(std::has_unique_object_representations_v<JobHead>);

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

/// A leaf that is no node would otherwise be found only when the first communicator is made. It is reported here, where
/// the manager is known to be the cause.
Outcome<> check_leaves(const JobTree& tree, const Hosts& hosts) {
  for (std::size_t host = 0; host < hosts.names.size(); ++host)
    if (tree.address_of(tree.host_leaf[host]) == nullptr)
      return failure(SHARP_COLL_ENOTREE,
                     "host {} hangs on node {}, which tree {} does not have; check the fabric file of sharp_am",
                     hosts.names[host], tree.host_leaf[host], tree.body.tree_id);
  return {};
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

/// Rank 0 asks the manager, and returns the bytes that all ranks get.
Outcome<std::vector<std::byte>> ask_for_job(std::span<const RankHello> hellos, Session& session, JobId job_id,
                                            const std::string& devices, const ClientConfig& config, const Logger& log) {
  const Hosts hosts = distinct_hosts(hellos);
  wire::JobBeginBody begin;
  std::uint32_t channels = 1;
  for (const auto& hello : hellos) channels = std::max(channels, hello.channel + 1);
  // The library asks for the amounts that it knows itself; the manager fills in only shares (0).
  begin.quota = {.osts = config.quota_osts,
                 .payload_per_ost = config.quota_payload_per_ost,
                 .max_groups = config.quota_max_groups,
                 .max_qps = config.quota_max_qps != 0 ? config.quota_max_qps : hosts.most_ranks(),
                 .max_group_channels = channels,
                 .num_trees = config.trees_requested(),
                 .features = SHARP_FEATURE_LLT | (config.enable_sat ? std::uint64_t{SHARP_FEATURE_SAT} : 0) |
                             (config.reproducible ? std::uint64_t{SHARP_FEATURE_REPRODUCIBLE} : 0)};
  begin.world_size = static_cast<std::uint32_t>(hellos.size());
  begin.flags = config.recovers() ? wire::kOutlivesTrees : 0;
  begin.queue_seconds = config.queue_seconds;
  begin.host_count = static_cast<std::uint32_t>(hosts.names.size());
  if (!wire::put_text(begin.devices, devices))
    return failure(SHARP_COLL_EDEV, "the list of devices {} is longer than {} letters", devices, wire::kDevicesMax - 1);
  SUMAC_INFO(log,
             "job (ID: {}) resource request quota: ( osts:{} user_data_per_ost:{} max_groups:{} max_qps:{} "
             "max_group_channels:{}, num_trees:{})",
             job_id, begin.quota.osts, begin.quota.payload_per_ost, begin.quota.max_groups, begin.quota.max_qps,
             begin.quota.max_group_channels, begin.quota.num_trees);
  const auto answer =
      session.begin_job(job_id, begin, hosts.names, config.job_create_timeout + Seconds(config.queue_seconds));
  if (!answer) return tl::unexpected(answer.error());
  const auto granted = wire::host_entry<wire::JobGrantedBody>(answer->front());
  const JobSettings settings{.sat_threshold = config.sat_threshold.count,
                             .enable_sat = config.enable_sat,
                             .osts_per_group = osts_by_policy(config, granted.quota.osts),
                             .lock_batch = config.sat_lock_batch,
                             .lock_on_comm_init = config.lock_on_comm_init};
  auto bytes = encode_job(job_id, settings, hosts.names, *answer, hosts.of_rank, config.recovers());
  const auto job = decode_job(bytes);
  Outcome<> usable = job ? Outcome<>{} : tl::unexpected(job.error());
  if (job && config.reproducible && !job->reproducible())
    usable = failure(
        SHARP_COLL_ENOT_SUPP,
        "SUMAC_REPRODUCIBLE=1, but sharp_am does not grant reproducible sums: update sharp_am and sharpd, or unset it");
  for (std::size_t i = 0; usable && i < job->trees.size(); ++i) usable = check_leaves(job->trees[i], hosts);
  if (usable) return bytes;
  if (auto ended = session.end_job(job_id, config.job_create_timeout); !ended)
    SUMAC_WARN(log, "{}", ended.error().text);
  return tl::unexpected(usable.error());
}

}  // namespace

bool Job::reproducible() const { return (granted.quota.features & SHARP_FEATURE_REPRODUCIBLE) != 0; }

std::uint32_t Job::group_osts() const {
  const auto& quota = granted.quota;
  const auto share = proto::ost_share(quota.osts, std::max(1u, quota.max_groups));
  return std::min(settings.osts_per_group == 0 ? share : settings.osts_per_group, std::max(1u, quota.osts));
}

std::vector<std::byte> encode_job(JobId job_id, const JobSettings& settings, std::span<const std::string> hosts,
                                  std::span<const wire::HostMessage> answer, std::span<const std::uint32_t> rank_host,
                                  bool recovers) {
  std::string names;
  for (const auto& host : hosts) names += host + '\0';
  names.resize((names.size() + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t) * sizeof(std::uint32_t));
  const JobHead head{.magic = recovers ? JobHead::kRecovers : JobHead::kPlain,
                     .job_id = job_id,
                     .settings = settings,
                     .hosts = static_cast<std::uint32_t>(hosts.size()),
                     .messages = static_cast<std::uint32_t>(answer.size()),
                     .name_bytes = static_cast<std::uint32_t>(names.size())};
  std::vector<std::byte> bytes;
  const auto put = [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); };
  put(std::as_bytes(std::span(&head, 1)));
  for (const auto& message : answer) put(wire::encoded(message));
  put(std::as_bytes(std::span(names)));
  put(std::as_bytes(rank_host));
  return bytes;
}

Outcome<Job> decode_job(std::span<const std::byte> bytes) {
  JobHead head;
  if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
  if (bytes.size() < sizeof head || (head.magic != JobHead::kPlain && head.magic != JobHead::kRecovers))
    return failure(SHARP_COLL_ETREE_INFO,
                   "job data of world rank 0 are of another version; use the same libsharp_coll on all hosts");
  bytes = bytes.subspan(sizeof head);
  const std::size_t answer = std::size_t{head.messages} * wire::kHostMessageBytes;
  const std::size_t behind = bytes.size() < answer ? 0 : bytes.size() - answer;
  if (bytes.size() < answer || behind < head.name_bytes || behind % sizeof(std::uint32_t) != 0 ||
      head.name_bytes % sizeof(std::uint32_t) != 0)
    return failure(SHARP_COLL_ETREE_INFO, "job data of world rank 0 are cut short or too long");
  GrantReader reader(head.job_id, head.hosts);
  for (std::uint32_t i = 0; i < head.messages; ++i, bytes = bytes.subspan(wire::kHostMessageBytes)) {
    const auto message = wire::decode_host_message(bytes.first(wire::kHostMessageBytes));
    if (!message) return failure(SHARP_COLL_ETREE_INFO, "job data of world rank 0: {}", message.error().context);
    if (auto read = reader.read(*message); !read)
      return failure(SHARP_COLL_ETREE_INFO, "job data of world rank 0: {}", read.error().context);
  }
  if (!reader.whole()) return failure(SHARP_COLL_ENOTREE, "the job of world rank 0 lacks a part of its trees");
  Job job;
  job.id = head.job_id;
  job.settings = head.settings;
  job.hosts = head.hosts;
  job.recovers = head.magic == JobHead::kRecovers;
  auto grant = reader.take();
  job.granted = grant.job;
  job.trees = std::move(grant.trees);
  std::string_view names(reinterpret_cast<const char*>(bytes.data()), head.name_bytes);
  for (auto end = names.find('\0'); end != names.npos && job.host_names.size() < job.hosts; end = names.find('\0')) {
    job.host_names.emplace_back(names.substr(0, end));
    names.remove_prefix(end + 1);
  }
  if (job.host_names.size() != job.hosts)
    return failure(SHARP_COLL_ETREE_INFO,
                   "job data of world rank 0 have {} hosts and {} names; use the same libsharp_coll on all hosts",
                   job.hosts, job.host_names.size());
  bytes = bytes.subspan(head.name_bytes);
  job.rank_host.resize(bytes.size() / sizeof(std::uint32_t));
  if (!bytes.empty()) std::memcpy(job.rank_host.data(), bytes.data(), bytes.size());
  if (std::ranges::any_of(job.rank_host, [&](std::uint32_t host) { return host >= job.hosts; }))
    return failure(SHARP_COLL_ETREE_INFO, "a rank of world rank 0's job is on none of its {} hosts", job.hosts);
  return job;
}

Outcome<std::vector<std::byte>> begin_job(const Oob& oob, const Outcome<>& local, Session* session, JobId job_id,
                                          const Member& member, const ClientConfig& config, const Logger& log) {
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
        blob = *std::move(job);
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
