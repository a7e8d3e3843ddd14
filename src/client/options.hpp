#pragma once
// Every variable of the client library, read again at each sharp_coll_init, because some callers change the environment
// just before it. World rank 0's values decide where all ranks must agree (job quota, streaming); the others are local
// to each process.
#include <array>
#include <cstdint>
#include <string>

#include "base/log.hpp"
#include "base/options.hpp"
#include "base/published_defaults.hpp"
#include "base/result.hpp"

namespace sumac::client {

/// A failed request never looks complete (sharp_coll_req_test()), so a client that polls it for ever hangs; it can
/// choose that the process ends instead.
enum class OnFailure : std::uint8_t { report, abort };
constexpr auto enum_names(OnFailure) {
  return std::array{EnumName<OnFailure>{"report", OnFailure::report}, EnumName<OnFailure>{"abort", OnFailure::abort}};
}

/// Whether a job goes on without its tree: `asked` as `usual`, but says why where it cannot.
enum class Recovers : std::uint8_t { never, asked, usual };
constexpr auto enum_names(Recovers) {
  return std::array{EnumName<Recovers>{"0", Recovers::never}, EnumName<Recovers>{"1", Recovers::asked},
                    EnumName<Recovers>{"auto", Recovers::usual}};
}

struct ClientConfig {
  int log_level;
  // Rank 0 asks the manager for these; 0 = the manager's default share.
  std::uint32_t quota_osts, quota_payload_per_ost, quota_max_groups, quota_max_qps, quota_num_trees;
  Millis job_create_timeout;
  std::uint32_t queue_seconds;
  // Groups and operations.
  std::uint32_t osts_per_group;
  std::uint32_t groups_per_comm;
  std::uint32_t group_resource_policy, group_quota_percent;
  std::uint32_t pipeline_depth;
  bool enable_sat;
  Bytes sat_threshold;
  bool reproducible;
  std::uint32_t sat_lock_batch;  ///< proto::kLockForEver means "inf".
  bool lock_on_comm_init;
  bool enable_cuda;
  bool enable_mcast;
  bool enable_hop;
  // The environment: sharpd, network, failures.
  std::string sharpd_socket;
  std::string transport;
  std::string devices, net_device;
  Millis node_lost_after;
  Millis timeout;  ///< 0: none, also below a binding whose teams have the limit.
  OnFailure on_failure;
  Defaults defaults;
  Recovers recovery;
  std::uint32_t stats_dump_mode;
  // Users of the hardware stack know these: they are accepted so that existing scripts still work, but have no effect
  // here.
  std::string ignored_buffer_pool_size, ignored_max_payload_size, ignored_max_inline_size, ignored_num_req,
      ignored_max_send_wr, ignored_max_recv_wr, ignored_max_rx_fill_size, ignored_rx_prepost_threshold,
      ignored_rx_prepost_threshold_soft, ignored_enable_mcast, ignored_group_is_target,
      ignored_check_group_leave_errors, ignored_enable_global_error_sync, ignored_enable_group_trim,
      ignored_job_create_polling_delay, ignored_error_check_interval, ignored_poll_batch,
      ignored_job_req_exclusive_lock_mode, ignored_num_coll_group_resource_alloc_threshold,
      ignored_job_member_list_type, ignored_enable_gpu_direct_rdma, ignored_enable_pci_relaxed_ordering;

  std::uint32_t trees_requested() const { return quota_num_trees != 0 ? quota_num_trees : groups_per_comm; }
  /// The job is begun as one that outlives its trees. No communicator of several trees does, and none over ucx.
  bool recovers() const {
    return recovery == Recovers::asked || (recovery == Recovers::usual && trees_requested() <= 1 && transport != "ucx");
  }
  /// The level of what is said where a job or a communicator cannot go on without its tree.
  LogLevel no_recovery() const { return recovery == Recovers::asked ? LogLevel::warn : LogLevel::debug; }
};

std::span<const Option<ClientConfig>> client_options();

/// Reads them from the environment; an error names the variable, its value and the legal values.
Result<ClientConfig> load_client_config();

/// A binding's settings of its jobs.
struct BindingSettings {
  std::string sharpd_socket;  ///< Goes before the variable; "": as that says.
  bool streams = false;       ///< Holds where SHARP_COLL_ENABLE_SAT is not set.
};
/// They hold for load_client_config() from now on.
void use_settings(BindingSettings settings);
/// From now on a team of this process names the variables that belong to no program; it does so without a tree too.
void leave_names_to_team();
bool names_are_left_to_team();

/// Returns a sentence for each SHARP_COLL_* and SUMAC_* variable in the environment that no program of ours knows, with
/// the name that was probably meant. Below a binding with a team the team has those with no program's prefix.
std::vector<std::string> unknown_client_variables();

/// Reads only SHARP_COLL_LOG_LEVEL; `warn` if it is unset or not a number.
LogLevel log_level_from_environment();

}  // namespace sumac::client
