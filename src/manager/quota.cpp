#include "manager/quota.hpp"

#include <algorithm>
#include <string_view>

namespace sumac::manager {
namespace {

struct Pool {
  std::string_view what;            ///< "OSTs"
  std::string_view quota_variable;  ///< The variable that the job's owner sets.
  std::string_view node_variable;   ///< The variable that the operator sets.
};
constexpr Pool kOsts{"OSTs", "SHARP_COLL_JOB_QUOTA_OSTS", "SUMAC_NODE_OST_COUNT"};
constexpr Pool kGroups{"groups", "SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "SUMAC_NODE_GROUP_COUNT"};

Result<std::uint32_t> take(const Pool& pool, std::uint32_t request, std::uint32_t percent, std::uint32_t capacity,
                           std::uint32_t used) {
  const auto share = static_cast<std::uint32_t>(std::uint64_t{capacity} * percent / 100);
  const std::uint32_t asked = request != 0 ? request : std::max(share, 1u);
  const std::uint32_t free = capacity - std::min(used, capacity);
  if (asked <= free) return asked;
  if (asked > capacity)
    return fail(Errc::invalid, "{} {} asked, a node has {}: lower {}, or raise {} at the nodes", asked, pool.what,
                capacity, pool.quota_variable, pool.node_variable);
  if (free == 0)
    return fail(Errc::exhausted,
                "{} {} asked, all {} are held by other jobs: wait for one to end, or raise {} at the nodes", asked,
                pool.what, capacity, pool.node_variable);
  return fail(Errc::exhausted, "{} {} asked{}, {} of {} are free: set {} to {} or less, or wait for another job to end",
              asked, pool.what,
              request != 0 ? "" : fmt::format(" (SUMAC_AM_DEFAULT_QUOTA_PERCENT of sharp_am is {})", percent), free,
              capacity, pool.quota_variable, free);
}

}  // namespace

Result<wire::Quota> allocate(const QuotaRules& rules, const Capacity& capacity, const Usage& used,
                             const wire::Quota& asked) {
  wire::Quota grant;
  const std::uint32_t payload_max = std::min(rules.payload_max, capacity.payload_max);
  if (asked.payload_per_ost != 0 && (asked.payload_per_ost < rules.payload_min || asked.payload_per_ost > payload_max))
    return fail(Errc::invalid,
                "a payload of {} bytes asked: SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST must be 0 or {} to {}",
                asked.payload_per_ost, rules.payload_min, payload_max);
  grant.payload_per_ost =
      asked.payload_per_ost != 0 ? asked.payload_per_ost : std::min(rules.payload_default, payload_max);

  grant.num_trees = 1;  // This counts one tree; a caller that grants several sets the number.

  auto osts = take(kOsts, asked.osts, rules.default_percent, capacity.osts, used.osts);
  if (!osts) return tl::unexpected(osts.error());
  auto groups = take(kGroups, asked.max_groups, rules.default_percent, capacity.groups, used.groups);
  if (!groups) return tl::unexpected(groups.error());
  grant.osts = *osts;
  grant.max_groups = *groups;
  // A process has one connection to its leaf node, whatever the job asks for; the number is returned because clients print
  // it.
  grant.max_qps = std::max(asked.max_qps, 1u);
  if (rules.group_channels_max != 0 && asked.max_group_channels > rules.group_channels_max)
    return fail(Errc::invalid,
                "{} channels asked (members of a group on one host), a job may have {}: leave basesmuma in HCOLL_SBGP, "
                "so that a host has one leader, or raise SUMAC_AM_MAX_GROUP_CHANNELS at sharp_am",
                asked.max_group_channels, rules.group_channels_max);
  grant.max_group_channels = std::max(asked.max_group_channels, 1u);
  grant.features = (asked.features & (kFeatureSat | kFeatureReproducible)) | kFeatureLlt;
  if (rules.stream_window == 0) grant.features &= ~std::uint64_t{kFeatureSat};
  if ((grant.features & kFeatureSat) != 0) {
    grant.stream_window = rules.stream_window;
    grant.chunk_bytes = rules.chunk_bytes;
  }
  return grant;
}

}  // namespace sumac::manager
