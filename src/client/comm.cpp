#include "client/comm.hpp"

#include <algorithm>

#include "client/reduction.hpp"

namespace sumac::client {
namespace {

using proto::ClientGroup;
using Phase = ClientGroup::Phase;

constexpr Millis kLeavePatience{30'000};  ///< comm_destroy when the caller set no coll_timeout.

/// What each member tells group rank 0 first.
struct Card {
  Report report;
  std::uint32_t world_rank = 0;
};

/// What it tells them: the group's id, or why there is none.
struct GroupNotice {
  Report report;
  std::uint32_t group_id = 0;
};

Outcome<std::uint32_t> open_group(Context& context, std::uint32_t size) {
  std::uint64_t token = 0;
  {
    auto guard = context.lock();
    token = context.next_token();
    context.link().open(token, size, monotonic_now());
  }
  proto::OpenOutcome outcome;
  const auto settled = [&] {
    outcome = context.link().open_outcome(token);
    return outcome.state != proto::OpenOutcome::State::pending;
  };
  const auto patience = context.config().job_create_timeout;
  const bool answered = context.wait_until(settled, deadline_after(monotonic_now(), patience));
  auto guard = context.lock();
  context.link().forget_open(token);
  if (!answered)
    return failure(SHARP_COLL_EGROUP_ALLOC,
                   "no group id: the tree's root did not answer in {} ms; look at the log of sharp_an",
                   patience.count());
  switch (outcome.state) {
    case proto::OpenOutcome::State::opened: return outcome.group_id;
    case proto::OpenOutcome::State::refused:
      if (outcome.refusal.reason == wire::RefuseReason::no_group_id)
        return failure(SHARP_COLL_EGROUP_ALLOC,
                       "sharp_alloc_groups_info failed: No available groups(-11): {}; destroy a communicator, or ask "
                       "for more with "
                       "SHARP_COLL_JOB_QUOTA_MAX_GROUPS",
                       proto::describe(outcome.refusal));
      return failure(SHARP_COLL_EGROUP_JOIN, "{}", proto::describe(outcome.refusal));
    default:
      return failure(SHARP_COLL_ECONN_TREE, "connection to the aggregation node: {}", context.link().why_closed());
  }
}

std::uint32_t fragments_of(const proto::Operation& operation, const proto::GroupShape& shape) {
  const auto element = operation.op == Op::null ? width(operation.dtype)
                                                : element_bytes(operation.dtype, operation.op, operation.tag_dtype);
  if (element == 0 || operation.count == 0) return 1;
  const std::uint64_t room =
      std::max<std::uint64_t>(1, (operation.streaming ? shape.chunk_max : shape.payload_max) / element);
  if (operation.block == 0) return static_cast<std::uint32_t>((operation.count + room - 1) / room);
  const auto pieces = [room](std::uint64_t elements) { return (elements + room - 1) / room; };
  const std::uint64_t behind = operation.count - std::min(operation.first_block, operation.count);
  return static_cast<std::uint32_t>(pieces(std::min(operation.first_block, operation.count)) +
                                    behind / operation.block * pieces(operation.block) +
                                    pieces(behind % operation.block));
}

std::size_t kind_of(wire::Coll coll) {
  switch (coll) {
    case wire::Coll::allreduce: return SUMAC_STATS_ALLREDUCE;
    case wire::Coll::reduce: return SUMAC_STATS_REDUCE;
    case wire::Coll::bcast: return SUMAC_STATS_BCAST;
    case wire::Coll::reduce_scatter: return SUMAC_STATS_REDUCE_SCATTER;
    case wire::Coll::allgather: return SUMAC_STATS_ALLGATHER;
    default: return SUMAC_STATS_BARRIER;
  }
}

}  // namespace

Outcome<std::unique_ptr<Comm>> Comm::make(Context& context, const sharp_coll_comm_init_spec& spec,
                                          const sharp_coll_out_of_band_colls& oob_colls) {
  const Oob oob(oob_colls, spec.oob_ctx, spec.rank, spec.size);
  std::unique_ptr<Comm> comm(
      new Comm(context, static_cast<std::uint32_t>(spec.size), static_cast<std::uint32_t>(spec.rank)));

  // 1. Is everybody well, and who are they? (comm_init_spec.group_world_ranks is garbage in real clients.)
  Card card;
  card.world_rank = static_cast<std::uint32_t>(context.world_rank());
  {
    auto guard = context.lock();
    if (context.link().closed())
      card.report = Report::of(
          failure(SHARP_COLL_ECONN_TREE, "connection to the aggregation node: {}", context.link().why_closed()));
  }
  auto cards = oob.gather(card);
  if (!cards) return tl::unexpected(cards.error());

  // 2. Rank 0 gets an id from the tree's root; all hear of it, and of each other.
  GroupNotice notice;
  std::vector<std::uint32_t> world_ranks(static_cast<std::size_t>(spec.size));
  if (spec.rank == 0) {
    std::vector<Report> reports;
    for (std::size_t i = 0; i < cards->size(); ++i) {
      reports.push_back((*cards)[i].report);
      world_ranks[i] = (*cards)[i].world_rank;
    }
    notice.report = first_failure(reports);
    if (notice.report.status == 0) {
      if (auto id = open_group(context, comm->size_))
        notice.group_id = *id;
      else
        notice.report = Report::of(tl::unexpected(id.error()));
    }
  }
  if (auto told = oob.bcast_value(notice); !told) return tl::unexpected(told.error());
  if (auto all_well = notice.report.outcome(); !all_well) return tl::unexpected(all_well.error());
  if (auto told = oob.bcast(std::as_writable_bytes(std::span(world_ranks))); !told) return tl::unexpected(told.error());

  // 3. Each joins at its leaf; whoever could not says so.
  const auto joined = comm->open_and_join(oob, notice.group_id, world_ranks);
  if (auto all_joined = oob.agree(joined); !all_joined) {
    auto guard = context.lock();
    if (comm->group_) {
      comm->leave(nullptr);
      context.abandon(std::move(comm));
    }
    return tl::unexpected(all_joined.error());
  }

  auto guard = context.lock();
  const auto number = context.next_group_number();
  if (context.world_rank() == 0) {
    const auto& shape = comm->group_->shape();
    SUMAC_INFO(context.log(),
               "[group#:{}] group id: {:x} tree idx:{} rail_idx:{} group size:{} quota: ( osts:{} user_data_per_ost:{} "
               ") mgid: ( "
               "subnet prefix: 0x0 interface id: 0x0 ) mlid:0",
               number, notice.group_id, context.job().trees.front().index, 0, spec.size, shape.osts, shape.payload_max);
  }
  return comm;
}

Outcome<> Comm::open_and_join(const Oob& oob, std::uint32_t group_id, std::span<const std::uint32_t> world_ranks) {
  const Job& job = context_.job();
  const JobTree& tree = job.trees.front();
  std::vector<std::uint32_t> leaves;
  for (const auto world_rank : world_ranks) {
    if (world_rank >= tree.rank_leaf.size())
      return failure(SHARP_COLL_EGROUP_JOIN, "world rank {} in a job of {} ranks", world_rank, tree.rank_leaf.size());
    leaves.push_back(tree.rank_leaf[world_rank]);
  }
  auto path = proto::compute_path(rank_, leaves, tree.nodes);
  if (!path)
    return failure(SHARP_COLL_ETREE_INFO, "path to the root: {}; check the fabric file of sharp_am",
                   path.error().context);

  proto::ClientGroupConfig config;
  config.job_id = job.id;
  config.tree_id = tree.id;
  config.group_id = group_id_ = group_id;
  config.rank = rank_;
  config.world_rank = static_cast<std::uint32_t>(context_.world_rank());
  config.group_size = static_cast<std::uint32_t>(oob.size());
  config.path = *path;
  config.osts = job.group_osts();
  config.payload_max = job.grant.grant.payload_per_ost;
  config.stream_window = job.enable_sat ? job.grant.stream_window : 0;
  config.chunk_max = job.enable_sat ? job.grant.chunk_bytes : 0;
  config.pipeline_depth = context_.config().pipeline_depth;
  depth_ = path->length;
  const auto patience = context_.config().job_create_timeout;
  {
    auto guard = context_.lock();
    auto group = ClientGroup::make(config, context_, context_.link_id());
    if (!group) return failure(SHARP_COLL_EGROUP_JOIN, "group {}: {}", group_id, group.error().context);
    group_ = *std::move(group);
    context_.link().attach(*group_);
    context_.add(*this);
    group_->start(monotonic_now());
  }
  const auto settled = [&] { return group_->phase() != Phase::joining; };
  if (!context_.wait_until(settled, deadline_after(monotonic_now(), patience)))
    return failure(SHARP_COLL_EGROUP_JOIN,
                   "group {} of {} members: no answer to join in {} ms; is a member or a node missing?", group_id,
                   size_, patience.count());
  auto guard = context_.lock();
  if (group_->phase() == Phase::standing) return {};
  if (const auto& refusal = group_->refusal())
    return failure(SHARP_COLL_EGROUP_JOIN, "group {}: {}", group_id, proto::describe(*refusal));
  return failure(SHARP_COLL_EGROUP_JOIN, "group {}: {}", group_id, group_->why());
}

Comm::~Comm() {
  if (!group_) return;
  auto guard = context_.lock();
  context_.remove(*this);
}

Outcome<Request*> Comm::post_barrier() {
  proto::Operation operation;
  operation.coll = wire::Coll::barrier;
  return post(operation, nullptr, SUMAC_STATS_BARRIER, 0);
}

Outcome<Request*> Comm::post(Reduction reduction) {
  const auto bytes = reduction.operation.src.size();
  reduction.operation.reproducible = context_.job().reproducible();
  return post(reduction.operation, std::move(reduction.staging), kind_of(reduction.operation.coll), bytes);
}

Outcome<Request*> Comm::post(proto::Operation& operation, std::unique_ptr<Staging> staging, std::size_t kind,
                             std::uint64_t bytes) {
  if (is_leaving_) return failure(SHARP_COLL_EINVAL, "the group was left already");
  Request* request = context_.take_request();
  if (request == nullptr)
    return failure(SHARP_COLL_ENO_RESOURCE, "too many requests in this process: free completed ones");
  operation.token = reinterpret_cast<std::uint64_t>(request->handle());
  const auto fragments = fragments_of(operation, group_->shape());
  if (fragments > 1) context_.cork();
  const auto posted = group_->post(operation, monotonic_now());
  if (fragments > 1) context_.uncork();
  if (!posted) {
    context_.drop_request(*request);
    switch (posted.error()) {
      case Errc::again:
        return failure(SHARP_COLL_ENO_RESOURCE, "{} operations are outstanding: complete some first",
                       proto::kOperationsMax);
      case Errc::unsupported: return failure(SHARP_COLL_ENOT_SUPP, "the group can't do it");
      case Errc::verdict:
      case Errc::lost:
      case Errc::refused: return failure(SHARP_COLL_ERROR, "{}", end() ? *end() : group_->why());
      default: return failure(SHARP_COLL_EINVAL, "operation refused: {}", to_string(posted.error()));
    }
  }
  request->comm = this;
  request->kind = static_cast<std::uint8_t>(kind);
  request->streamed = operation.streaming;
  request->fragments = fragments;
  request->bytes = bytes;
  request->staging = std::move(staging);
  ++context_.counts(kind).posted;
  context_.watch(*this);
  return request;
}

void Comm::leave(Request* request) {
  is_leaving_ = true;
  leave_request_ = request;
  group_->leave(monotonic_now());
  context_.watch(*this);
}

bool Comm::drain() {
  while (auto over = group_->next_completion()) {
    Request* request = request_table().find(reinterpret_cast<void*>(over->token));
    const int status = over->status == Errc::ok ? SHARP_COLL_SUCCESS : SHARP_COLL_ERROR;
    // A failed operation's buffers go back to the user, who may free them: what is still queued must not read them.
    if (status != SHARP_COLL_SUCCESS) context_.forget_borrowed();
    if (request == nullptr) continue;
    if (status == SHARP_COLL_SUCCESS && request->staging) scatter(*request->staging);
    context_.finish(*request, status, status == SHARP_COLL_SUCCESS ? nullptr : end());
  }
  if (is_leaving_ && has_left() && leave_request_ != nullptr)
    context_.finish(*std::exchange(leave_request_, nullptr), SHARP_COLL_SUCCESS, nullptr);
  return group_->outstanding() > 0 || (is_leaving_ && !has_left());
}

const std::shared_ptr<const std::string>& Comm::end() {
  if (end_) return end_;
  const auto text = group_->why();
  if (text.empty()) return end_;
  const auto link = context_.link().closed() ? context_.describe_link() : std::string();
  end_ = std::make_shared<const std::string>(fmt::format("group {:x}: {}{}", group_id_, text, link));
  const auto& verdict = group_->verdict();
  // A verdict has the same words at all members: the first whom it is not about tells people. A broken connection is each one's own.
  const bool speaks = !verdict || rank_ == (verdict->body.culprit == 0 ? 1 : 0);
  const auto level = speaks ? LogLevel::error : LogLevel::debug;
  SUMAC_LOG(context_.log(), level, "SHArP Error detected. err code:{} type:{} desc: {}", SHARP_COLL_ERROR,
            verdict ? "verdict" : "connection", *end_);
  return end_;
}

void Comm::fill(sumac_comm_info& info) const {
  const auto& shape = group_->shape();
  info.group_id = group_id_;
  info.tree_id = context_.job().trees.front().id;
  info.group_size = size_;
  info.osts = shape.osts;
  info.payload_bytes = shape.payload_max;
  info.pipeline_depth = context_.config().pipeline_depth;
  info.stream_window = shape.stream_window;
  info.chunk_bytes = shape.chunk_max;
  info.stream_threshold = context_.job().sat_threshold;
  info.root_node = shape.root_node;
  info.depth = depth_;
}

bool destroy(std::unique_ptr<Comm> comm) {
  Context& context = comm->context();
  {
    auto guard = context.lock();
    if (!comm->is_leaving()) comm->leave(nullptr);
  }
  const Duration patience =
      context.coll_timeout_ms() > 0 ? Duration(Millis(context.coll_timeout_ms())) : Duration(kLeavePatience);
  const bool left = context.wait_until([&] { return comm->has_left(); }, deadline_after(monotonic_now(), patience));
  if (left) return true;
  SUMAC_WARN(context.log(), "comm_destroy: not all members left within {} ms; going on without them",
             std::chrono::duration_cast<Millis>(patience).count());
  auto guard = context.lock();
  context.abandon(std::move(comm));
  return false;
}

}  // namespace sumac::client
