#include "client/options.hpp"

#include "base/our_variables.hpp"
#include "client/stripes.hpp"

namespace sumac::client {
namespace {

using C = ClientConfig;

template <auto Member>
constexpr Option<C> ignored(std::string_view name, std::string_view default_text, std::string_view doc) {
  return option<Member>(name, default_text, doc).hidden();
}

constexpr Option<C> kTable[] = {
    option<&C::log_level>("SHARP_COLL_LOG_LEVEL", "2", "0 fatal, 1 error, 2 warn, 3 info, 4 debug, 5 trace.")
        .between(0, 5),
    option<&C::quota_osts>("SHARP_COLL_JOB_QUOTA_OSTS", "0",
                           "Operations in flight to ask for, per tree; 0: default share.")
        .between(0, 65535),
    option<&C::quota_payload_per_ost>(
        "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST", "0",
        "Bytes of one operation in flight to ask for; 0: 1024, or less where a node holds less.")
        .between(128, 1024)
        .or_zero(),
    option<&C::quota_max_groups>("SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "0", "Communicators to ask for; 0: default share.")
        .between(0, 65535),
    option<&C::quota_max_qps>("SHARP_COLL_JOB_QUOTA_MAX_QPS_PER_PORT", "0",
                              "Connections per port to ask for; 0: ranks of the fullest host.")
        .between(0, 65535),
    option<&C::quota_num_trees>(
        "SHARP_COLL_JOB_NUM_TREES", "0",
        "Trees to ask for; 0: as many as SHARP_COLL_GROUPS_PER_COMM. Where there are fewer the job gets "
        "those.")
        .between(0, 64),
    option<&C::job_create_timeout>("SHARP_COLL_JOB_CREATE_TIMEOUT", "10000",
                                   "Milliseconds to wait for sharpd, for the manager and for the aggregation node.")
        .between(1, 3600000),
    option<&C::queue_seconds>(
        "SUMAC_QUEUE_SECONDS", "0",
        "Seconds that a job waits for its turn where the trees have no room for it; 0: it is refused.")
        .between(0, 86400),
    option<&C::osts_per_group>("SHARP_COLL_OSTS_PER_GROUP", "0",
                               "Most fragments of a communicator in flight; 0: its share, max(2, OSTs / groups).")
        .between(0, 65535),
    option<&C::group_resource_policy>(
        "SHARP_COLL_GROUP_RESOURCE_POLICY", "1",
        "How the job's OSTs are shared among its groups: 0 first come, first served; 1 "
        "equally; 2 SHARP_COLL_USER_GROUP_QUOTA_PERCENT of them for each. Rank 0 decides.")
        .between(0, 2),
    option<&C::group_quota_percent>("SHARP_COLL_USER_GROUP_QUOTA_PERCENT", "0",
                                    "Share of the job's OSTs that a group may have under policy 2, in percent; 0: the "
                                    "equal share. Rank 0 decides.")
        .between(0, 100),
    option<&C::groups_per_comm>(
        "SHARP_COLL_GROUPS_PER_COMM", "1",
        "Groups of a communicator, and how many trees the job asks for unless "
        "SHARP_COLL_JOB_NUM_TREES says. Large operations are striped over them, small ones take "
        "turns. It is never fewer than the job has trees. Rank 0 of the communicator decides.")
        .between(1, kChannelsMax),
    option<&C::pipeline_depth>(
        "SHARP_COLL_PIPELINE_DEPTH", "64",
        "Most fragments of one operation in flight, and never more than the group's OSTs. It does not "
        "bound streams: their chunks in flight are the window that was granted.")
        .between(1, 65535),
    option<&C::enable_sat>("SHARP_COLL_ENABLE_SAT", "0",
                           "Stream large operations in chunks of 64 KiB. Rank 0 decides."),
    option<&C::sat_threshold>("SHARP_COLL_SAT_THRESHOLD", "16384",
                              "Bytes from which an allreduce streams, if streaming is enabled. Rank 0 decides."),
    option<&C::reproducible>("SUMAC_REPRODUCIBLE", "0",
                             "Floating-point sums and products have the same bits on every tree and in every order of "
                             "arrival: they are added along a fixed tree of the communicator's ranks. Rank 0 decides."),
    option<&C::sat_lock_batch>("SHARP_COLL_SAT_LOCK_BATCH_SIZE", "inf",
                               "Streaming operations per streaming lock; 1: communicators take turns; inf: held until "
                               "comm_destroy; 0: not asked for, but each node that has none left ends the group. "
                               "Rank 0 decides.")
        .between(0, 4294967295),
    option<&C::lock_on_comm_init>(
        "SHARP_COLL_LOCK_ON_COMM_INIT", "0",
        "Take the streaming lock in comm_init, which fails without it (-18). Rank 0 decides."),
    option<&C::enable_cuda>("SHARP_COLL_ENABLE_CUDA", "1",
                            "Take buffers in CUDA memory, through pinned host memory; 0: refuse them (-2)."),
    option<&C::enable_mcast>("SHARP_COLL_ENABLE_MCAST_TARGET", "1",
                             "Take small results from a UDP multicast as well, where the tree's root sends one and it "
                             "comes before the link's copy; 0: from the link only.")
        .alias("SHARP_COLL_SHARP_ENABLE_MCAST_TARGET"),
    option<&C::enable_hop>(
        "SUMAC_COLL_HOP", "1",
        "Small operations go as datagrams where the kernels of all nodes answer them (SUMAC_NODE_HOP); "
        "0: never."),
    option<&C::stats_dump_mode>(
        "SHARP_COLL_STATS_DUMP_MODE", "0",
        "At finalize: 0 nothing, 1 each rank logs its counts, 2 rank 0 logs the sum over all ranks "
        "(out-of-band calls in finalize; where they fail, as when MPI is over by then, it is as 1).")
        .between(0, 2),
    option<&C::sharpd_socket>("SHARP_COLL_SHARPD_SOCKET_NAME", "/run/sumac/sharpd.sock",
                              "Where sharpd of this host listens."),
    option<&C::transport>(
        "SUMAC_TRANSPORT", "auto",
        "tcp, ucx, or auto: what the aggregation node offers. Between hosts without a tree auto is tcp."),
    option<&C::devices>("SHARP_COLL_IB_DEV_LIST", "",
                        "Ports to use, NAME or NAME:PORT with commas between: RDMA adapters (mlx5_0:1) or network "
                        "interfaces (eth0). Rank 0's decide which trees the job gets; of the ports that lead to a tree "
                        "a process takes the one of its channel. Before the program's own list (HCOLL_MAIN_IB); any: "
                        "the system's choice."),
    option<&C::net_device>("SUMAC_NET_DEVICE", "",
                           "The same, where neither the program nor sharpd names ports; empty: the system's choice."),
    option<&C::node_lost_after>(
        "SUMAC_COLL_NODE_LOST_AFTER", "10s",
        "Silence of the aggregation node that ends the job's operations; 1 s at most where they go on "
        "without it (SUMAC_RECOVERY).")
        .between(100, 3600000),
    option<&C::timeout>(
        "SUMAC_TIMEOUT", "0",
        "A communicator whose operations wait for longer without one coming to its end has ended, at all "
        "its members; 0: no limit. Below an MPI or PyTorch it is the team's."),
    option<&C::on_failure>(
        "SUMAC_COLL_ON_FAILURE", "report",
        "A communicator fails with operations under way, since a node or a rank was lost: report: the "
        "operations end with an error, which sharp_coll_req_test() has no number for, so a client that "
        "polls it for ever (UCC, the NCCL plugin) hangs; abort: a line says why, and the process ends by "
        "abort()."),
    option<&C::recovery>(
        "SUMAC_RECOVERY", "auto",
        "A communicator goes on with exact results when its tree is lost: its members send each other messages, for "
        "which each rank listens at a port of its own. auto: with one tree, not with ucx, and where streams keep their "
        "speed; 1: says where it can't be; 0: never, and nothing listens. Rank 0 decides."),
    option<&C::defaults>(kDefaultsVariable, "sumac",
                         "2018: the defaults of the published texts, where ours are others (payload 128, "
                         "SAT_THRESHOLD 1024, ALLREDUCE_SHARP_MAX 256), their line behind a refused group, and their "
                         "list of sharp_coll_dump_config."),

    ignored<&C::ignored_buffer_pool_size>("SHARP_COLL_BUFFER_POOL_SIZE", "4096",
                                          "No effect: buffers are allocated as needed and kept."),
    ignored<&C::ignored_max_payload_size>("SHARP_COLL_MAX_PAYLOAD_SIZE", "256",
                                          "No effect: the grant says (SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST)."),
    ignored<&C::ignored_max_inline_size>("SHARP_COLL_MAX_INLINE_SIZE", "256",
                                         "No effect: a queue of InfiniBand hardware."),
    ignored<&C::ignored_num_req>("SHARP_COLL_NUM_SHARP_COLL_REQ", "128", "No effect: requests are not limited."),
    ignored<&C::ignored_max_send_wr>("SHARP_COLL_MAX_SEND_WR", "64", "No effect: a queue of InfiniBand hardware."),
    ignored<&C::ignored_max_recv_wr>("SHARP_COLL_MAX_RECV_WR", "256", "No effect: a queue of InfiniBand hardware."),
    ignored<&C::ignored_max_rx_fill_size>("SHARP_COLL_MAX_RX_FILL_SIZE", "256",
                                          "No effect: a queue of InfiniBand hardware."),
    ignored<&C::ignored_rx_prepost_threshold>("SHARP_COLL_RX_PREPOST_THRESHOLD", "64",
                                              "No effect: a queue of InfiniBand hardware."),
    ignored<&C::ignored_rx_prepost_threshold_soft>("SHARP_COLL_RX_PREPOST_THRESHOLD_SOFT", "255",
                                                   "No effect: a queue of InfiniBand hardware."),
    ignored<&C::ignored_enable_mcast>("SHARP_COLL_ENABLE_MCAST", "0",
                                      "No effect: an allgather goes through the tree as any operation."),
    ignored<&C::ignored_group_is_target>("SHARP_COLL_GROUP_IS_TARGET", "1",
                                         "No effect: results always come by reliable links."),
    ignored<&C::ignored_check_group_leave_errors>("SHARP_COLL_CHECK_GROUP_LEAVE_ERRORS", "0",
                                                  "No effect: errors when leaving are always reported."),
    ignored<&C::ignored_enable_global_error_sync>("SHARP_COLL_ENABLE_GLOBAL_ERROR_SYNC", "1",
                                                  "No effect: all members always hear the same verdict."),
    ignored<&C::ignored_enable_group_trim>("SHARP_COLL_ENABLE_GROUP_TRIM", "1",
                                           "No effect: a group always ends where its members meet."),
    ignored<&C::ignored_job_create_polling_delay>("SHARP_COLL_JOB_CREATE_POLLING_DELAY", "1",
                                                  "No effect: sharpd answers when it knows."),
    ignored<&C::ignored_error_check_interval>("SHARP_COLL_ERROR_CHECK_INTERVAL", "180000",
                                              "No effect: errors are told at once."),
    ignored<&C::ignored_poll_batch>("SHARP_COLL_POLL_BATCH", "4", "No effect: a poll takes what is there."),
    ignored<&C::ignored_job_req_exclusive_lock_mode>(
        "SHARP_COLL_JOB_REQ_EXCLUSIVE_LOCK_MODE", "0",
        "No effect: how many groups stream at once is each node's (SUMAC_NODE_STREAMS=1: one)."),
    ignored<&C::ignored_num_coll_group_resource_alloc_threshold>("SHARP_COLL_NUM_COLL_GROUP_RESOURCE_ALLOC_THRESHOLD",
                                                                 "0", "No effect: a group is made in comm_init."),
    ignored<&C::ignored_job_member_list_type>("SHARP_COLL_JOB_MEMBER_LIST_TYPE", "2",
                                              "No effect: the manager gets the list of hosts."),
    ignored<&C::ignored_enable_gpu_direct_rdma>("SHARP_COLL_ENABLE_GPU_DIRECT_RDMA", "0",
                                                "No effect: CUDA memory goes through host memory."),
    ignored<&C::ignored_enable_pci_relaxed_ordering>("SHARP_COLL_ENABLE_PCI_RELAXED_ORDERING", "0",
                                                     "No effect: no adapter is driven directly."),
};

}  // namespace

std::span<const Option<ClientConfig>> client_options() { return kTable; }

namespace {
BindingSettings given;
bool has_team = false;
}  // namespace

void use_settings(BindingSettings settings) { given = std::move(settings); }
void leave_names_to_team() { has_team = true; }
bool names_are_left_to_team() { return has_team; }

Result<ClientConfig> load_client_config() {
  auto config = load<ClientConfig>(kTable, environment(), Source{std::string(kDefaultsVariable), published_default});
  if (!config) return config;
  if (has_team) config->timeout = Millis{0};
  if (!given.sharpd_socket.empty()) config->sharpd_socket = given.sharpd_socket;
  if (given.streams && !environment().lookup("SHARP_COLL_ENABLE_SAT")) config->enable_sat = true;
  return config;
}

std::vector<std::string> unknown_client_variables() {
  std::vector<std::string> known;
  append_names<ClientConfig>(kTable, known);
  constexpr std::string_view kPrefixes[] = {"SHARP_COLL_", "SUMAC_COLL_", "SUMAC_"};
  std::vector<std::string> sentences;
  for (const auto& unknown : unknown_variables(known, kPrefixes)) {
    const bool is_nobodys = !unknown.name.starts_with(kPrefixes[0]) && !unknown.name.starts_with(kPrefixes[1]);
    if (!has_team || !is_nobodys) sentences.push_back(to_string(unknown));
  }
  return sentences;
}

LogLevel log_level_from_environment() {
  const auto text = environment().lookup("SHARP_COLL_LOG_LEVEL");
  if (!text) return LogLevel::warn;
  const auto number = detail::parse_signed(*text, -1000, 1000);
  return number ? log_level_from(*number) : LogLevel::warn;
}

}  // namespace sumac::client
