#include "node/data_path.hpp"

#include <unistd.h>

#include <algorithm>

#include "wire/agg_codec.hpp"

namespace sumac::node {
namespace {

constexpr Duration kTellFullEvery = Seconds(60);
constexpr Duration kLookEvery = Millis(100);  // Each beat of the transport is followed by a look.
constexpr Duration kLookAtRanksEvery = Millis(500);
constexpr int kSilentBeats = 5;

proto::LinkId link_of(net::ConnId conn) noexcept { return {conn.value}; }
net::ConnId conn_of(proto::LinkId link) noexcept { return {link.value}; }

/// Returns the constant part of a reason: without the address in front, and without numbers and names. A stranger
/// chooses those, and must not create a new kind of log line by varying them.
std::string_view fixed_words(std::string_view reason) noexcept {
  if (const auto at = reason.find(": "); at != std::string_view::npos) reason.remove_prefix(at + 2);
  return reason.substr(0, reason.find_first_of("(:0123456789"));
}

bool is_proof(const BufferRef& frame) noexcept {  // This must be cheap, because every message passes here.
  return frame.size() == wire::kAggHeaderBytes + sizeof(wire::ProofBody) &&
         frame.bytes()[3] == static_cast<std::byte>(wire::AggKind::proof);
}

}  // namespace

DataPath::DataPath(DataPathConfig config, std::unique_ptr<net::Transport> transport, BufferPool& pool, Logger& log)
    : config_(config),
      log_(log),
      pool_(pool),
      transport_(std::move(transport)),
      multicaster_(config_.multicast, transport_->address(), log),
      retry_(config.retry_min) {
  if (!config_.hop) return;
  if (auto made = Datagrams::make(*transport_, config_.pins, log_))
    datagrams_ = *std::move(made);
  else
    SUMAC_WARN(log_, "SUMAC_NODE_HOP=auto: small operations go by TCP all the same: {}", made.error().context);
}

/// With this process its kernel stops. Whoever goes on in it must know that, before the connections end.
DataPath::~DataPath() {
  if (node_ == nullptr || datagrams_ == nullptr) return;
  node_->stop(now_ = monotonic_now());
  transport_->progress(*this);
}

void DataPath::identify(NodeId node_id, TreeId tree_id, bool root, Time now) {
  now_ = now;
  if (node_ != nullptr) {
    const auto& old = node_->config();
    if (old.node_id == node_id && old.tree_id == tree_id && old.root == root) return;
    SUMAC_WARN(log_, "this process was node {} of tree {:#x} and is now node {} of tree {:#x}: all its groups are over",
               old.node_id, old.tree_id, node_id, tree_id);
    // The manager has revoked the jobs of a tree that changed. Their members read why before the links end.
    node_->leave_tree(now);
    for (const auto child : std::exchange(children_, {})) transport_->close({child}, true);
    neighbours_.clear();
    if (parent_) transport_->close(std::exchange(parent_, net::ConnId{}));
    parent_up_ = false;
    parent_info_ = {};  // The key belonged to the former tree; the manager sends the next one.
    retry_at_ = kNever;
    stalled_.clear();
    if (datagrams_) datagrams_->clear();
  }
  proto::NodeConfig config;
  config.node_id = node_id;
  config.tree_id = tree_id;
  config.root = root;
  config.limits = config_.limits;
  config.name = config_.name;
  config.node_key = node_key_;
  config.address = transport_->address();
  config.multicast_to_one_level = config_.multicast.to_one_level;
  node_ = std::make_unique<proto::Node>(config, static_cast<proto::Outbox&>(*this));
}

void DataPath::set_node_key(const Secret& key) {
  node_key_ = key;
  if (node_ != nullptr) node_->set_node_key(key);
}

void DataPath::set_parent(const proto::ParentInfo& parent, Time now) {
  const bool is_same = parent_ && parent.address == parent_info_.address && parent.node_id == parent_info_.node_id;
  // An established link stays, whatever key the next link will need.
  if (is_same && (parent_up_ || parent.key == parent_info_.key)) {
    parent_info_.key = parent.key;
    return;
  }
  now_ = now;
  if (parent_) {
    neighbour_closed(parent_, {});
    const auto old = std::exchange(parent_, net::ConnId{});
    transport_->close(old);
    node_->on_link_closed(link_of(old), now);
  }
  parent_info_ = parent;
  parent_up_ = false;
  retry_ = config_.retry_min;
  connect_parent(now);
}

void DataPath::connect_parent(Time now) {
  retry_at_ = kNever;
  const auto nonce = draw_secret();
  if (!nonce) return parent_down(nonce.error(), now);
  auto conn = transport_->connect(parent_info_.address);
  if (!conn) return parent_down(conn.error(), now);
  parent_ = *conn;
  // This sends a hello, which is queued until the connection is established.
  node_->set_parent_link(link_of(parent_), parent_info_, *nonce, now);
}

void DataPath::parent_down(const Error& why, Time now) {
  // Logged once per loss, not once per attempt.
  if (parent_up_ || retry_ == Duration(config_.retry_min))
    SUMAC_WARN(log_, "no link to the parent {} at {}: {}; trying again", parent_info_.name, parent_info_.address,
               why.context);
  parent_up_ = false;
  parent_change_ = ParentState{false, why.context};
  retry_at_ = deadline_after(now, retry_);
  retry_ = std::min<Duration>(2 * retry_, config_.retry_max);
}

Result<> DataPath::grant(const proto::JobGrant& grant) { return node_->grant(grant, monotonic_now()); }

bool DataPath::revoke(JobId job_id, Time now, std::string_view why) {
  now_ = now;
  const bool known = node_->revoke(job_id, now, why);
  note_ended();
  return known;
}

void DataPath::note_ended() {
  for (const auto job_id : node_->take_forgotten()) {
    ended_.push_back(job_id);
    for (const auto link : node_->links_of_former(job_id)) transport_->estrange(conn_of(link));
  }
}

void DataPath::rank_died(JobId job_id, WorldRank world_rank, std::string_view host, Time now) {
  now_ = now;
  for (const auto link : node_->links_of(job_id, world_rank, host)) {
    SUMAC_INFO(log_, "{} of job {} died, as its host's sharpd reports", peer_of(link), job_id);
    transport_->close(conn_of(link));
    children_.erase(link.value);
    node_->rank_died(link, now);
  }
}

std::size_t DataPath::progress(Time now) {
  if (node_ == nullptr) return 0;
  now_ = now;
  if (now >= retry_at_) connect_parent(now);
  if (node_->next_due() <= now) node_->tick(now);
  if (datagrams_) datagrams_->tick(node_.get(), now);
  const std::size_t events = transport_->progress(*this);
  while (!stalled_.empty()) {
    const auto link = stalled_.back();
    stalled_.pop_back();
    on_closed(conn_of(link), Error{Errc::exhausted, "its peer does not read its results"});
  }
  if (node_->has_forgotten()) note_ended();
  if (events == 0) tell_full();
  if (now >= look_at_) look_at_neighbours();
  if (now >= look_at_ranks_) look_at_ranks();
  return events;
}

void DataPath::tell_full() {
  const auto turned_away = transport_->stats().turned_away;
  if (turned_away == turned_away_ || now_ < tell_full_at_) return;
  SUMAC_WARN(log_,
             "no room for another connection ({} descriptors are legal, {} connected): raise the limit (ulimit -n, "
             "LimitNOFILE=)",
             ::sysconf(_SC_OPEN_MAX), children_.size());
  turned_away_ = turned_away;
  tell_full_at_ = now_ + kTellFullEvery;
}

void DataPath::forget_told_neighbours() noexcept {
  for (auto& [conn, is_silent] : neighbours_) is_silent = false;
}

std::optional<NodeId> DataPath::neighbour_at(net::ConnId conn) const {
  return conn == parent_ ? parent_info_.node_id : node_->node_at(link_of(conn));
}

/// Rare heartbeats make silence longer.
Millis DataPath::outlived_after() const {
  return std::min(std::max(config_.outlived_after, kSilentBeats * config_.heartbeat), config_.lost_after);
}

void DataPath::look_at_neighbours() {
  look_at_ = now_ + kLookEvery;
  const auto limit = std::max(away_, 4 * config_.heartbeat);
  for (auto& [value, is_silent] : neighbours_) {
    const auto silence = transport_->silence({value});
    if (silence >= outlived_after()) end_outlived({value}, silence);
    if (away_.count() == 0) continue;
    const auto who = neighbour_at({value});
    if ((silence >= limit) == is_silent || !who) continue;
    is_silent = !is_silent;
    neighbour_changes_.push_back({*who, is_silent ? NeighbourState::Kind::silent : NeighbourState::Kind::heard,
                                  std::chrono::duration_cast<Millis>(silence)});
  }
}

/// A silent rank may compute for hours; only a host that acknowledges nothing is lost.
void DataPath::look_at_ranks() {
  look_at_ranks_ = now_ + kLookAtRanksEvery;
  std::vector<net::ConnId> lost;  // The node may close connections when it is told.
  for (const auto value : children_)
    if (!neighbours_.contains(value) && transport_->silence({value}) >= outlived_after() &&
        transport_->is_unanswered({value}))
      lost.push_back({value});
  for (const auto conn : lost) end_outlived(conn, transport_->silence(conn));
}

void DataPath::end_outlived(net::ConnId conn, Duration silence) {
  const auto peer = peer_of(link_of(conn));
  const auto end = net::peer_end(Error{Errc::timeout, transport_->peer(conn)});
  const auto ended = node_->on_neighbour_silent(
      link_of(conn), now_,
      {conn == parent_ ? parent_info_.name : "", end.host, std::chrono::duration_cast<Millis>(silence)});
  if (ended != 0)
    SUMAC_WARN(log_, "{} has been silent for {} ms: {} groups that go on without the tree have ended here",
               conn == parent_ ? "the parent " + parent_info_.name : peer,
               std::chrono::duration_cast<Millis>(silence).count(), ended);
}

/// Call it before the node learns of the end. `silence` is 0 if the link ended in another way.
void DataPath::neighbour_closed(net::ConnId conn, Millis silence) {
  const auto found = neighbours_.find(conn.value);
  if (found == neighbours_.end()) return;
  const auto who = neighbour_at(conn);
  const bool was_silent = found->second;
  neighbours_.erase(found);
  if (who && (was_silent || silence.count() > 0))
    neighbour_changes_.push_back(
        {*who, silence.count() > 0 ? NeighbourState::Kind::lost : NeighbourState::Kind::heard, silence});
}

Time DataPath::next_due() const {
  if (node_ == nullptr) return kNever;
  return std::min({retry_at_, node_->next_due(), transport_->next_due(), datagrams_ ? datagrams_->next_due() : kNever});
}

TreeNumbers DataPath::numbers() const {
  TreeNumbers all;
  all.limits = config_.limits;
  all.net = transport_->stats();
  all.buffers = pool_.stats();
  all.multicasts_lost = multicaster_.lost();
  if (datagrams_) all.datagrams = datagrams_->counts();
  if (node_ == nullptr) return all;
  all.has_parent = node_->config().root || node_->has_parent();
  all.links = node_->links();
  all.usage = node_->usage();
  all.node = node_->stats();
  return all;
}

std::optional<ParentState> DataPath::take_parent_change() { return std::exchange(parent_change_, std::nullopt); }

void DataPath::on_accepted(net::ConnId conn) {
  const auto nonce = draw_secret();
  if (!nonce) {
    SUMAC_ERROR(log_, "rejected {}: {}", transport_->peer(conn), nonce.error().context);
    return transport_->close(conn);
  }
  children_.insert(conn.value);
  node_->on_link_up(link_of(conn), *nonce, now_);
}

void DataPath::on_connected(net::ConnId conn) {
  if (conn != parent_) return;
  transport_->watch(conn, config_.heartbeat, config_.lost_after);
}

/// The parent counts as connected only after its proof, because another process may listen at its address.
void DataPath::parent_proven() {
  parent_up_ = true;
  neighbours_.emplace(parent_.value, false);
  retry_ = config_.retry_min;
  parent_change_ = ParentState{true, {}};
  SUMAC_INFO(log_, "connected to the parent {} at {}", parent_info_.name, parent_info_.address);
}

void DataPath::on_message(net::ConnId conn, BufferRef frame) {
  const bool has_proof = is_proof(frame);
  node_->on_message(link_of(conn), std::move(frame), now_);
  if (has_proof && node_->proven(link_of(conn))) transport_->admit(conn);
  if (!parent_up_ && conn == parent_ && node_->has_parent()) parent_proven();
}

void DataPath::greeted(proto::LinkId link, wire::Role role, JobId job_id) {
  const bool is_node = role == wire::Role::node;
  // The messages of a node belong to many jobs, so its link is an owner of its own.
  transport_->belongs_to(conn_of(link), is_node ? std::uint64_t{link.value} << 32 | 1 : number_of(job_id));
  // A silent client is never given up: it may compute for hours without looking at its sockets.
  transport_->watch(conn_of(link), config_.heartbeat, is_node ? config_.lost_after : Millis{0});
  if (is_node) neighbours_.emplace(link.value, false);
}

void DataPath::on_closed(net::ConnId conn, const Error& why) {
  children_.erase(conn.value);
  const auto who = peer_of(link_of(conn));
  const bool is_stranger = node_->who(link_of(conn)).empty();
  const auto end = net::peer_end(why);
  neighbour_closed(conn, end.silence);
  node_->on_link_closed(link_of(conn), now_, {conn == parent_ ? parent_info_.name : "", end.host, end.silence});
  if (conn == parent_) {
    parent_ = {};
    parent_down(why, now_);
  } else if (why.code == Errc::invalid) {
    if (const auto more = said_.next(fixed_words(why.context), now_))
      SUMAC_WARN(log_, "dropped the link to {}; only ranks and nodes of this Sumac belong here{}", why.context, *more);
  } else if (is_stranger && why.code == Errc::timeout) {
    if (const auto more = said_.next(fixed_words(why.context), now_))
      SUMAC_WARN(log_, "closed the link to {}; only ranks and nodes of this Sumac belong here{}", why.context, *more);
  } else {
    SUMAC_DEBUG(log_, "the link to {} closed: {}", who, why.context);
  }
}

std::string DataPath::peer_of(proto::LinkId link) const {
  const auto who = node_->who(link);
  const auto address = transport_->peer(conn_of(link));
  return who.empty() ? address : fmt::format("{} ({})", who, address);
}

void DataPath::put(proto::LinkId to, std::span<const std::byte> head, const Payload& body) {
  const Errc sent = transport_->send(conn_of(to), head, body);
  if (sent == Errc::ok || sent == Errc::lost) return;  // If lost, on_closed follows, or we closed the link ourselves.
  // The windows limit what can wait in a queue. So a peer with more unread data breaks a rule: it contributes without
  // reading results.
  if (const auto more = said_.next("gave up " + node_->who(to), now_))
    SUMAC_ERROR(log_, "gave up the link to {}: it leaves {} bytes of results unread, more than its windows allow{}",
                peer_of(to), transport_->held(conn_of(to)), *more);
  transport_->close(conn_of(to));
  stalled_.push_back(to);
}

void DataPath::send(proto::LinkId to, const wire::AggHeader& header, const Payload& data) {
  const auto head = wire::encoded(header);
  put(to, head, data);
}

void DataPath::send_control(proto::LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) {
  std::array<std::byte, 256> frame;
  wire::encode(header, std::span(frame).first<wire::kAggHeaderBytes>());
  std::copy(body.begin(), body.end(), frame.begin() + wire::kAggHeaderBytes);
  put(to, std::span(frame).first(wire::kAggHeaderBytes + body.size()), {});
}

void DataPath::drop(proto::LinkId link, const Error& why) {
  // Errc::lost means that the job has ended. Many links may end at once, and none of them broke a rule.
  if (why.code == Errc::lost)
    SUMAC_INFO(log_, "closed the link to {}: {}", peer_of(link), why.context);
  else if (const auto more = said_.next(fmt::format("{} {}", fixed_words(why.context), node_->who(link)), now_))
    SUMAC_WARN(log_, "dropped the link to {}: {}{}", peer_of(link), why.context, *more);
  neighbour_closed(conn_of(link), {});
  // A peer that leaves results unread will not read a farewell either.
  transport_->close(conn_of(link), transport_->held(conn_of(link)) == 0);
  children_.erase(link.value);
  if (conn_of(link) == parent_) {
    parent_ = {};
    parent_down(why, now_);
  }
}

}  // namespace sumac::node
