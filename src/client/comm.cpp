#include "client/comm.hpp"

#include <algorithm>
#include <cstdlib>

#include "client/recovery/recovery.hpp"
#include "client/tree/pays.hpp"

namespace sumac::client {
namespace {

using proto::ClientGroup;
using proto::ClientGroupConfig;
using Phase = ClientGroup::Phase;

constexpr Millis kLeavePatience{30'000};  ///< comm_destroy waits so long if the caller set no coll_timeout.

/// Whoever has not heard of the job's other trees by then has lost its sharpd.
Millis told_of_trees_within(const Context& context) {
  return std::min(context.config().job_create_timeout, Millis{10'000});
}

/// The record that each member first sends to group rank 0.
struct Card {
  Report report;
  WorldRank world_rank{};
  std::uint32_t generation = 0;  ///< See Context::generation().
  TreeMask unusable = 0;         ///< Trees that it does not reach.
};

/// The answer of group rank 0: the groups, or the reason why there are none.
struct GroupNotice {
  Report report;
  std::uint32_t awaits = 0;  ///< All are to have this generation of the job's trees first, and send their cards again.
  std::uint32_t reserved = 0;
  OpenedGroups groups;
};

/// Is this member well, and what is its world rank? (comm_init_spec.group_world_ranks is garbage in real clients.) `awaited`: the
/// generation of the trees that it was to have by now, or 0.
Card card_of(Context& context, std::uint32_t awaited) {
  Card card;
  card.world_rank = context.world_rank();
  card.unusable = closed_trees(context);
  auto guard = context.lock();
  card.generation = context.generation();
  const auto& links = context.links();
  if (card.generation < awaited)
    card.report =
        Report::of(failure(SHARP_COLL_ECONN_TREE,
                           "sharpd of this host has told nothing of the job's other trees in {} ms: look at its log",
                           told_of_trees_within(context).count()));
  else if (std::ranges::all_of(links, [](const auto& link) { return link->closed(); }))
    card.report = Report::of(
        failure(SHARP_COLL_ECONN_TREE, "connection to the aggregation node: {}", links.front()->why_closed()));
  return card;
}

/// Rank 0 gets ids from the trees' roots, if all members have the same trees.
GroupNotice answer(Context& context, std::span<const Card> cards, std::uint32_t awaited) {
  GroupNotice notice;
  std::vector<Report> reports;
  TreeMask unusable = 0;
  std::uint32_t oldest = cards.front().generation, newest = oldest;
  for (const Card& card : cards) {
    reports.push_back(card.report);
    unusable |= card.unusable;
    oldest = std::min(oldest, card.generation);
    newest = std::max(newest, card.generation);
  }
  if (oldest != newest && awaited == 0) {
    notice.awaits = newest;
    return notice;
  }
  notice.report = first_failure(reports);
  if (notice.report.status != 0) return notice;
  auto groups = open_groups(context, static_cast<std::uint32_t>(cards.size()), unusable);
  if (groups && (oldest != newest || groups->generation != newest)) groups = trees_changed();
  if (groups)
    notice.groups = *groups;
  else
    notice.report = Report::of(tl::unexpected(groups.error()));
  return notice;
}

bool tells_of_leaving(const wire::VerdictBody& verdict) {
  const auto leave = static_cast<std::uint64_t>(wire::Coll::leave);
  return verdict.reason == wire::TroubleReason::disagree && verdict.field == wire::Field::coll &&
         (verdict.culprit_value == leave || verdict.other_value == leave);
}

}  // namespace

Outcome<std::unique_ptr<Comm>> Comm::make(Context& context, const sharp_coll_comm_init_spec& spec,
                                          const sharp_coll_out_of_band_colls& oob_colls) {
  const Oob oob(oob_colls, spec.oob_ctx, spec.rank, spec.size);
  std::unique_ptr<Comm> comm(
      new Comm(context, static_cast<std::uint32_t>(spec.size), static_cast<std::uint32_t>(spec.rank)));

  // 1. Rank 0 hears of every member, and answers with the groups.
  GroupNotice notice;
  std::vector<WorldRank> world_ranks(static_cast<std::size_t>(spec.size));
  for (std::uint32_t awaited = 0;; awaited = notice.awaits) {
    if (awaited != 0) context.await_trees(awaited, Patience(told_of_trees_within(context)));
    auto cards = oob.gather(card_of(context, awaited));
    if (!cards) return tl::unexpected(cards.error());
    if (spec.rank == 0) {
      std::ranges::transform(*cards, world_ranks.begin(), &Card::world_rank);
      notice = answer(context, *cards, awaited);
    }
    if (auto told = oob.bcast_value(notice); !told) return tl::unexpected(told.error());
    if (notice.awaits == 0 || awaited != 0) break;
  }
  if (auto all_well = notice.report.outcome(); !all_well) return tl::unexpected(all_well.error());
  if (notice.groups.count == 0 || notice.groups.count > notice.groups.group.size())
    return failure(SHARP_COLL_EOOB, "rank 0 names {} groups, which is no answer of ours", notice.groups.count);
  if (auto told = oob.bcast(std::as_writable_bytes(std::span(world_ranks))); !told) return tl::unexpected(told.error());

  comm->world_ranks_ = world_ranks;

  // 2. Each member joins at its leaves; one that could not reports that.
  const auto joined = comm->join(notice.groups, world_ranks);
  if (auto all_joined = oob.agree(joined); !all_joined) {
    give_up(std::move(comm));
    return tl::unexpected(all_joined.error());
  }
  comm->settle();
  return comm;
}

Outcome<std::unique_ptr<Comm>> Comm::make_known(Context& context, std::uint32_t rank,
                                                std::vector<WorldRank> world_ranks, const OpenedGroups& groups) {
  std::unique_ptr<Comm> comm(new Comm(context, static_cast<std::uint32_t>(world_ranks.size()), rank));
  comm->world_ranks_ = std::move(world_ranks);
  if (auto joined = comm->join(groups, comm->world_ranks_); !joined) {
    give_up(std::move(comm));
    return tl::unexpected(joined.error());
  }
  comm->settle();
  return comm;
}

void Comm::give_up(std::unique_ptr<Comm> comm) {
  Context& context = comm->context_;
  auto guard = context.lock();
  if (comm->channels_.empty()) return;
  comm->leave(nullptr);
  context.abandon(std::move(comm));
}

void Comm::settle() {
  auto guard = context_.lock();
  settle_on_shape();
  if (!names_are_left_to_team()) {
    const auto& group = channels_.front().group.config();
    const std::uint64_t id = number_of(group.job_id) ^ std::uint64_t{number_of(group.group_id)} << 32;
    recorded_ = recorder::Track(fmt::format("group {:x}", group.group_id), id, static_cast<int>(rank_),
                                static_cast<int>(size_));
  }
  if (context_.world_rank() == WorldRank{0}) announce();
}

Outcome<Comm::Channel> Comm::make_channel(const OpenedGroup& opened, std::span<const WorldRank> world_ranks,
                                          bool lasts) {
  auto config = config_of(opened, world_ranks);
  if (!config) return tl::unexpected(config.error());
  if (lasts) config->stream_window = window_that_lasts(context_, size_, this);
  auto group = make_group(*config, *context_.links()[opened.tree], lasts);
  if (!group) return tl::unexpected(group.error());
  return Channel{opened.tree, config->path.length, *std::move(group)};
}

Outcome<ClientGroupConfig> Comm::config_of(const OpenedGroup& opened, std::span<const WorldRank> world_ranks) const {
  const Job& job = context_.job();
  const JobTree& tree = job.trees[opened.tree];
  std::vector<NodeId> leaves;
  for (const auto world_rank : world_ranks) {
    if (number_of(world_rank) >= job.rank_host.size())
      return failure(SHARP_COLL_EGROUP_JOIN, "world rank {} in a job of {} ranks", world_rank, job.rank_host.size());
    leaves.push_back(job.leaf_of(tree, world_rank));
  }
  auto path = proto::compute_path(rank_, leaves, tree.nodes);
  if (!path)
    return failure(SHARP_COLL_ETREE_INFO, "path to the root of tree {}: {}; check the fabric file of sharp_am",
                   tree.body.tree_id, path.error().context);

  proto::ClientGroupConfig config;
  config.job_id = job.id;
  config.tree_id = tree.body.tree_id;
  config.group_id = opened.id;
  config.rank = rank_;
  config.world_rank = context_.world_rank();
  config.group_size = size_;
  config.path = *path;
  config.osts = job.group_osts();
  config.payload_per_ost = job.granted.quota.payload_per_ost;
  config.stream_window = job.stream_window();
  config.chunk_bytes = job.settings.enable_sat ? job.granted.quota.chunk_bytes : 0;
  config.pipeline_depth = context_.config().pipeline_depth;
  config.lock_batch = job.settings.lock_batch;
  config.reproducible = job.reproducible();
  if (context_.config().enable_hop) {
    config.datagrams.port = context_.links()[opened.tree]->datagram_port(context_.transport());
    config.datagrams.job_key = job.granted.job_key;
  }
  return config;
}

Outcome<MemberGroup> Comm::make_group(const proto::ClientGroupConfig& config, TreeLink& link, bool lasts) {
  const auto failed = [&](const Error& why) {
    return failure(SHARP_COLL_EGROUP_JOIN, "group {}: {}", config.group_id, why.context);
  };
  if (lasts) {
    auto group = proto::recovery::Group::make(config, link.engine(), context_, *this);
    if (!group) return failed(group.error());
    generation_ = context_.generation();
    using proto::recovery::LastingGroup;
    return MemberGroup(std::unique_ptr<LastingGroup>(new LastingGroup(*std::move(group), rank_, size_, *this, *this)));
  }
  auto group = ClientGroup::make(config, context_, link.id());
  if (!group) return failed(group.error());
  return MemberGroup(*std::move(group));
}

Outcome<> Comm::join(const OpenedGroups& opened, std::span<const WorldRank> world_ranks) {
  const Patience patience(context_.config().job_create_timeout);
  context_.await_trees(opened.generation, patience);
  {
    auto guard = context_.lock();
    if (context_.generation() != opened.generation) return trees_changed();
    context_.add(*this);
    for (std::uint32_t i = 0; i < opened.count; ++i) {
      if (opened.group[i].tree >= context_.links().size())
        return failure(SHARP_COLL_EGROUP_JOIN, "group on tree {} of {}", opened.group[i].tree, context_.links().size());
      auto channel = make_channel(opened.group[i], world_ranks, opened.lasts != 0 && context_.recovery() != nullptr);
      if (!channel) return tl::unexpected(channel.error());
      channels_.push_back(*std::move(channel));
    }
    for (auto& channel : channels_) {
      link_of(channel).engine().attach(channel.group.on_tree());
      channel.group.start(monotonic_now());
      // It was closed before the group was there, and the other members hear only of groups.
      if (link_of(channel).closed()) channel.group.on_tree().on_link_closed(monotonic_now());
    }
    if (lasting() != nullptr)
      for (const auto dead : context_.recovery()->deaths()) member_died(dead, monotonic_now());
  }
  const auto settled = [&] {
    return std::ranges::all_of(channels_, [](const auto& channel) { return channel.group.phase() != Phase::joining; });
  };
  context_.wait_until(settled, patience);
  {
    auto guard = context_.lock();
    for (const auto& channel : channels_)
      if (auto stands = standing(channel, patience.waited()); !stands) return stands;
    if (context_.config().enable_mcast)
      for (const auto& channel : channels_) context_.listeners().add(channel.group.on_tree(), link_of(channel).conn());
  }
  return context_.job().settings.takes_lock() ? take_stream_locks() : Outcome<>{};
}

Outcome<> Comm::standing(const Channel& channel, Millis waited) const {
  const auto id = channel.group.config().group_id;
  switch (channel.group.phase()) {
    case Phase::standing: return {};
    case Phase::joining:
      return in_vain(failure(SHARP_COLL_EGROUP_JOIN,
                             "group {} of {} members: no answer to join in {} ms; is a member or a node missing?", id,
                             size_, waited.count()));
    default: break;
  }
  if (const auto& refusal = channel.group.refusal()) {
    if (refusal->reason == wire::RefuseReason::no_ost)
      return no_room(failure(SHARP_COLL_EGROUP_JOIN,
                             "group {}: {}; destroy a communicator, or ask for more with SHARP_COLL_JOB_QUOTA_OSTS", id,
                             proto::describe(*refusal)));
    auto refused = failure(SHARP_COLL_EGROUP_JOIN, "group {}: {}", id, proto::describe(*refusal));
    return refusal->reason == wire::RefuseReason::node_limit ? no_room(std::move(refused)) : refused;
  }
  const auto why = channel.group.why();
  if (why.empty()) return in_vain(failure(SHARP_COLL_EGROUP_JOIN, "group {}: another member could not join", id));
  return failure(SHARP_COLL_EGROUP_JOIN, "group {}: {}", id, why);
}

void Comm::settle_on_shape() {
  shape_ = channels_.front().group.shape();
  const auto port = context_.job().granted.host_rate_bits_per_s;
  for (auto& channel : channels_) {
    const auto& tree = link_of(channel).tree();
    auto rate = tree.body.rate_bits_per_s;
    if (port != 0 && (rate == 0 || port < rate)) rate = port;  // 0: not known.
    channel.chunks = chunk_rule({rate, tree.body.delay_ns, tree.connections()}, channel.group.shape().stream_window,
                                channels_.size());
  }
  if (channels_.size() == 1) return;
  std::vector<ChannelRate> rates;
  for (const auto& channel : channels_) {
    const auto& shape = channel.group.shape();
    shape_.osts = std::min(shape_.osts, shape.osts);
    shape_.payload_per_ost = std::min(shape_.payload_per_ost, shape.payload_per_ost);
    shape_.stream_window = std::min(shape_.stream_window, shape.stream_window);
    shape_.chunk_bytes = std::min(shape_.chunk_bytes, shape.chunk_bytes);
    shape_.reproducible = shape_.reproducible && shape.reproducible;
    const auto rate = link_of(channel).tree().body.rate_bits_per_s;
    rates.push_back({channel.tree, rate == 0 ? port : rate});
  }
  rule_ = {weights_of(rates), shape_.payload_per_ost, stream_stripe_min(rates, shape_.chunk_bytes)};
  in_order_.resize(proto::kOperationsMax);
}

void Comm::announce() const {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const auto& group = channels_[i].group;
    SUMAC_INFO(context_.log(),
               "[group#:{}] group id: {:x} tree idx:{} rail_idx:{} group size:{} quota: ( osts:{} user_data_per_ost:{} "
               ") {}",
               i, group.config().group_id, link_of(channels_[i]).tree().body.tree_index,
               context_.rail_of(channels_[i].tree), size_, group.shape().osts, group.shape().payload_per_ost,
               multicast::mgid_text(context_.listeners().has(group.on_tree()) ? group.invitation() : std::nullopt,
                                    group.config().group_id));
  }
  const auto& job = context_.job();
  if (const auto why = why_no_hop(); why.empty())
    SUMAC_INFO(context_.log(), "group {:x}: operations of up to {} B go by the hop",
               channels_.front().group.config().group_id, channels_.front().group.on_tree().datagram_payload_max());
  else
    SUMAC_DEBUG(context_.log(), "group {:x}: none of its operations goes by the hop: {}",
                channels_.front().group.config().group_id, why);
  if (context_.recovery() != nullptr && lasting() == nullptr)
    SUMAC_LOG(context_.log(), context_.config().no_recovery(), "SUMAC_RECOVERY: group {:x} ends with its tree: {}",
              channels_.front().group.config().group_id,
              channels_.size() > 1 ? "its communicator has several groups"
              : job.settings.takes_lock()
                  ? "it takes the streaming lock (SHARP_COLL_LOCK_ON_COMM_INIT=0 avoids that)"
                  : "its streams would be slower, for a process keeps 16 MiB of them (SUMAC_RECOVERY=1 allows that)");
  if (const auto ways = ways_of(job, size_); cost::tree_bytes_max(ways) != cost::kNoLimit)
    SUMAC_INFO(context_.log(), "group {:x}: large messages lose in its tree: {}",
               channels_.front().group.config().group_id, cost::explain(ways));
  if (!job.settings.enable_sat || job.granted.quota.stream_window == 0 || shape_.stream_window > 0) return;
  if (channels_.front().group.config().stream_window == 0)
    SUMAC_WARN(
        context_.log(),
        "group {:x}: its large operations go in small fragments: with SUMAC_RECOVERY=1 a process has memory for the "
        "streams of few communicators, and of at most 1024 members; destroy a communicator",
        channels_.front().group.config().group_id);
  else
    SUMAC_WARN(context_.log(),
               "group {:x}: no node memory is left for a streaming window, so its large operations go in small "
               "fragments; destroy a communicator, or raise SUMAC_NODE_MEMORY of sharp_an",
               channels_.front().group.config().group_id);
}

Comm::~Comm() {
  auto guard = context_.lock();
  context_.remove(*this);
}

std::string Comm::why_no_hop() const {
  const auto why = channels_.front().group.on_tree().why_by_link({});
  if (why == proto::ByLink::none) return "";
  if (!context_.config().enable_hop) return "SUMAC_COLL_HOP=0";
  if (why == proto::ByLink::not_offered && !link_of(channels_.front()).engine().leaf_takes_datagrams())
    return "SUMAC_NODE_HOP is off at its node, whose log may have another reason";
  return proto::describe(why);
}

std::string Comm::about_hop(proto::Operation operation) const {
  if (!why_no_hop().empty()) return "";
  operation.reproducible = context_.job().reproducible();
  const auto& group = channels_.front().group.on_tree();
  const auto why = group.why_by_link(operation);
  if (why == proto::ByLink::none) return "by the hop";
  if (why == proto::ByLink::size)
    return fmt::format("not by the hop: up to {} B go there", group.datagram_payload_max());
  return fmt::format("not by the hop: {}", proto::describe(why));
}

std::uint64_t Comm::datagrams() const noexcept {
  std::uint64_t all = 0;
  for (const auto& channel : channels_) all += channel.group.on_tree().datagram_operations();
  return all;
}

void Comm::detach() noexcept {
  context_.count_datagrams(datagrams());
  if (const auto* group = lasting(); group != nullptr) {
    for (const auto& life : group->lives_left()) context_.recovery()->note_left(life);
    if (group->current().has_left()) context_.recovery()->note_left(group->current().key());
  }
  for (auto& channel : channels_) {
    context_.listeners().remove(channel.group.on_tree());
    if (channel.group.lasting() == nullptr) link_of(channel).engine().detach(channel.group.on_tree());
  }
}

bool Comm::has_left() const {
  return std::ranges::all_of(channels_, [](const auto& channel) { return channel.group.phase() == Phase::left; });
}

void Comm::let_go(std::uint32_t dead) {
  copying_.clear();
  for (auto& channel : channels_) channel.group.let_go(monotonic_now(), dead);
  context_.forget_borrowed();
  context_.watch(*this);
}

bool Comm::has_lost_member() const noexcept {
  return std::ranges::any_of(channels_, [](const auto& channel) {
    const auto& verdict = channel.group.verdict();
    return verdict && (verdict->body.reason == wire::TroubleReason::dead_rank ||
                       verdict->body.reason == wire::TroubleReason::gave_up);
  });
}

void Comm::leave(Request* request) {
  is_leaving_ = true;
  leave_request_ = request;
  for (auto& channel : channels_) channel.group.leave(monotonic_now());
  context_.watch(*this);
}

const std::shared_ptr<const std::string>& Comm::end() {
  for (const auto& channel : channels_) {
    if (end_) break;
    if (!channel.group.why().empty()) end_by(channel);
  }
  return end_;
}

std::vector<std::string> Comm::names_by_host(std::span<const int> ranks) const {
  const Job& job = context_.job();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < world_ranks_.size(); ++i)
    names.push_back(fmt::format("rank {} (host {})", i < ranks.size() ? ranks[i] : static_cast<int>(i),
                                job.host_names[job.rank_host[number_of(world_ranks_[i])]]));
  return names;
}

void Comm::end_by(const Channel& culprit) {
  // A member that left one group is a consequence of the end of another group, whose own reason may come later.
  const auto& verdict = culprit.group.verdict();
  const bool follows = channels_.size() > 1 && verdict && tells_of_leaving(verdict->body);
  if (end_ && (follows || !end_follows_)) return;
  const bool is_trees = link_of(culprit).closed() && !culprit.group.is_without_tree();
  const auto link = is_trees ? link_of(culprit).describe() : std::string();
  end_ = std::make_shared<const std::string>(fmt::format("group {:x}: {}{}{}", culprit.group.config().group_id, late_,
                                                         culprit.group.why(names_.empty() ? names_by_host() : names_),
                                                         link));
  end_follows_ = follows;
  // A verdict has the same text at all members, so the first member that it is not about tells the user. A broken
  // connection is local to one member.
  const bool speaks = !verdict || rank_ == (verdict->body.culprit == 0 ? 1 : 0);
  if (!follows)
    SUMAC_LOG(context_.log(), speaks ? LogLevel::error : LogLevel::debug,
              "SHArP Error detected. err code:{} type:{} desc: {}", static_cast<int>(SHARP_COLL_ERROR),
              verdict ? "verdict" : "connection", *end_);
  // The other groups end with it. Leave is a number like any other: a member that has posted more there learns that the
  // members differ, so no member waits for us; operations that all of us posted complete.
  if (channels_.size() == 1) return;
  for (auto& channel : channels_)
    if (&channel != &culprit) channel.group.leave(monotonic_now());
  context_.watch(*this);
}

void Comm::abort_process() {
  const auto& why = end();
  SUMAC_FATAL(context_.log(), "SUMAC_COLL_ON_FAILURE=abort: the process ends: {}",
              why ? *why : "a communicator failed");
  std::abort();
}

void Comm::fill(sumac_comm_info& info) const {
  const Channel& first = channels_.front();
  info.group_id = number_of(first.group.config().group_id);
  info.tree_id = number_of(link_of(first).tree().body.tree_id);
  info.group_size = size_;
  info.osts = shape_.osts;
  info.payload_bytes = shape_.payload_per_ost;
  info.pipeline_depth = context_.config().pipeline_depth;
  info.stream_window = shape_.stream_window;
  info.chunk_bytes = shape_.chunk_bytes;
  info.stream_threshold = context_.job().settings.sat_threshold;
  info.root_node = number_of(shape_.root_node);
  info.depth = first.depth;
  info.groups = static_cast<std::uint32_t>(channels_.size());
  info.allreduce_bytes_max = static_cast<std::uint64_t>(cost::tree_bytes_max(ways_of(context_.job(), size_)));
}

namespace {
void warn_of_no_room(Context& context, const Failure& failed) {
  SUMAC_WARN(context.log(), "{} (said of the first communicator without a group)", failed.text);
  if (context.config().defaults != Defaults::of_2018 || failed.status != SHARP_COLL_EGROUP_ALLOC) return;
  // The published line says no more than the one above.
  Logger low_level(Logger::Form::low_level, context.log().level());
  low_level.set_rank(static_cast<int>(number_of(context.world_rank())));
  SUMAC_WARN(low_level, "No available groups in sharp_alloc_groups_info.");
}
}  // namespace

void tell_of_no_group(Context& context, bool speaks, const Failure& failed) {
  // All members remember it, because one of them may be rank 0 of the next communicator.
  const bool is_lost = failed.status == SHARP_COLL_ECONN_TREE && context.recovery() != nullptr;
  const bool again = [&] {
    auto guard = context.lock();
    return (failed.no_room && !context.first_without_group()) || (is_lost && !context.first_without_tree());
  }();
  if (again || !speaks)
    SUMAC_DEBUG(context.log(), "{}", failed.text);
  else if (failed.no_room)
    warn_of_no_room(context, failed);
  else
    SUMAC_ERROR(context.log(), "{}{}", failed.text,
                is_lost ? " (said of the first communicator that is made meanwhile)" : "");
}

bool destroy(std::unique_ptr<Comm> comm) {
  Context& context = comm->context();
  context.free_departed();
  {
    auto guard = context.lock();
    if (!comm->is_leaving()) comm->leave(nullptr);
  }
  const bool is_bounded = context.coll_timeout_ms() > 0;
  const Millis patience = is_bounded ? Millis(context.coll_timeout_ms()) : kLeavePatience;
  const bool left = context.wait_until([&] { return comm->has_left(); }, deadline_after(monotonic_now(), patience));
  if (left) return true;
  auto guard = context.lock();
  // Other members may leave after this timeout (MVAPICH's own default is 100 ms): a member whose operations are all
  // over has done its part, and nobody has to wait for the rest.
  const bool is_through = comm->outstanding() == 0;
  SUMAC_LOG(context.log(), is_through && is_bounded ? LogLevel::debug : LogLevel::warn,
            "comm_destroy: not all members left within {} ms; going on without them{}", patience.count(),
            is_through ? "" : ", and with operations under way");
  context.abandon(std::move(comm));
  return is_through;
}

}  // namespace sumac::client
