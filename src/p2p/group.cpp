#include "p2p/group.hpp"

#include <algorithm>
#include <utility>

#include "base/hmac.hpp"
#include "base/host_name.hpp"

namespace sumac::p2p {
namespace {

using coll::Kind;

/// The memory for messages that come before their operation, of all peers together. It bounds the longest message that
/// goes unannounced: 16 KiB up to some hundred members, less in larger groups.
constexpr std::uint64_t kEarlyMemory = 64u << 20, kEagerMax = 16 * 1024, kEagerLeast = 256;
constexpr std::uint32_t kWindow = 16;
constexpr std::uint64_t kEarlyMessages = 2 * kWindow;
/// For the messages that are being received and sent, and for those of the handshake.
constexpr std::uint64_t kOtherMemory = 32u << 20;
/// A handshake's messages are the only ones of a peer that is not proven.
constexpr std::size_t kStrangerBytes = wire::kPeerHeaderBytes + sizeof(wire::WelcomeBody);
constexpr std::size_t kStrangersMax = 512;

std::uint64_t eager_max_of(std::uint32_t size) {
  const std::uint64_t share = kEarlyMemory / std::max<std::uint64_t>(1, (size - 1) * kEarlyMessages);
  return std::clamp<std::uint64_t>(share, kEagerLeast, kEagerMax);
}

std::size_t pool_bytes(std::uint32_t size, std::uint64_t eager_max, bool has_messages) {
  const std::uint64_t messages = kEarlyMessages + (has_messages ? kMessagesAhead : 0);
  return kOtherMemory + std::size_t{size} * messages * BufferPool::footprint(wire::kPeerHeaderBytes + eager_max);
}

}  // namespace

Group::Group(GroupConfig config, std::uint64_t eager_max)
    : config_(std::move(config)),
      eager_max_(eager_max),
      pool_(pool_bytes(config_.size, eager_max, config_.messages != nullptr)),
      conns_(config_.size),
      sent_(config_.size) {}

Result<std::unique_ptr<Group>> Group::make(GroupConfig config) {
  if (config.size == 0 || config.rank >= config.size)
    return fail(Errc::invalid, "rank {} of {}: ranks are 0 to size - 1", config.rank, config.size);
  const std::uint64_t eager_max = eager_max_of(config.size);
  std::unique_ptr<Group> group(new Group(std::move(config), eager_max));
  if (auto done = group->open(); !done) return tl::unexpected(done.error());
  if (auto done = group->connect(); !done) return tl::unexpected(done.error());
  if (auto done = group->measure(); !done) return tl::unexpected(done.error());
  group->is_made_ = true;
  return group;
}

Result<> Group::open() {
  if (auto ready = prepare_hmac(); !ready) return ready;
  auto& transport = config_.transport;
  if (transport.listen.empty()) transport.listen = "0.0.0.0:0";
  transport.message_max = wire::kPeerHeaderBytes + kMessageMax;
  transport.place_from = wire::kPeerHeaderBytes + eager_max_ + 1;
  transport.stranger_bytes = kStrangerBytes;
  transport.strangers_max = std::max<std::size_t>(kStrangersMax, config_.size);
  transport.connections_max = transport.strangers_max + 2 * config_.size;
  auto made = net::make_transport(transport, pool_);
  if (!made) return tl::unexpected(made.error());
  transport_ = std::move(*made);
  if (config_.host_name.empty()) config_.host_name = host_name();
  return {};
}

Group::~Group() {
  if (transport_ == nullptr) return;
  if (engine_ != nullptr && is_made_ && !engine_->is_idle())
    engine_->fail(
        {Errc::lost, fmt::format("{} ended the group while operations were under way", name_of(config_.rank))});
  // All sent messages must arrive before the connections close.
  const Time until = monotonic_now() + config_.transport.linger;
  const auto wait_for = [&](auto&& is_so) {
    for (; !is_so() && monotonic_now() < until; rest(until)) look();
  };
  if (engine_ != nullptr && is_made_) wait_for([&] { return engine_->leave(); });
  is_made_ = false;
  for (const auto& [conn, link] : links_) transport_->close(net::ConnId{conn}, link.is_proven);
  links_.clear();
  wait_for([&] { return transport_->flushing() == 0; });
}

void Group::begin_to_leave() {
  static_cast<void>(engine_->leave());  // The destructor sends what finds no room now.
  look();
}

std::vector<std::uint32_t> Group::staying() {
  while (look() > 0) {
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t peer = 0; peer < config_.size && !engine_->failure(); ++peer)
    if (peer != config_.rank && !engine_->has_left(peer)) found.push_back(peer);
  return found;
}

// ---- coll::Across

/// A team's leaders do a scan by an allgatherv and a reduce_scatter by an alltoallv.
bool Group::takes(Kind kind, std::size_t, const coll::Fold* fold) const noexcept {
  const bool goes_as_another = coll::collective(kind).is_prefix || kind == Kind::reduce_scatter;
  return !goes_as_another && (fold == nullptr || !fold->in_mpi);
}

std::string Group::why_not(Kind kind, std::size_t bytes, const coll::Fold* fold) const {
  if (takes(kind, bytes, fold)) return "";
  return fold != nullptr && fold->in_mpi ? "only MPI may call its function" : "leaders do it by another collective";
}

Question Group::question_of(Kind kind, std::size_t bytes, const coll::Fold* fold) const {
  // The caller's own functions keep the order of operands: not all of them commute.
  return {kind, bytes, fold == nullptr || static_cast<bool>(fold->kernel)};
}

std::string_view Group::algorithm(Kind kind, std::size_t bytes, const coll::Fold* fold) const {
  return to_string(choose(question_of(kind, bytes, fold), limits(), costs_));
}

coll::Across::Progress Group::start(const coll::Operation& o, void*& request) {
  std::size_t bytes = o.bytes;
  if (o.kind == Kind::allgatherv)
    for (std::uint32_t i = 0; i < config_.size; ++i) bytes += o.out_blocks.bytes(static_cast<int>(i));
  return start_by(o, choose(question_of(o.kind, bytes, o.fold), limits(), costs_), request);
}

coll::Across::Progress Group::start_by(const coll::Operation& o, Algorithm algorithm, void*& request) {
  return engine_->start(o, algorithm, request, monotonic_now());
}

coll::Across::Progress Group::start_direct(const coll::Operation& o, void*& request) {
  return engine_->start_direct(o, request, monotonic_now());
}

coll::Across::Progress Group::test(void* request) {
  const auto progress = peek(request);
  if (progress != Progress::pending || std::exchange(has_looked_, false)) return progress;
  look();
  return peek(request);
}

coll::Across::Progress Group::peek(void* request) { return engine_->test(request); }

void Group::let_go(void* request) {
  engine_->fail({Errc::lost, fmt::format("{} {}", name_of(config_.rank), kGaveUp)});
  static_cast<void>(engine_->test(request));
}

coll::Across::Sleep Group::sleep(int us) {
  if (engine_->is_idle()) return Sleep::impossible;
  const Sleep slept = await_message(us);
  has_looked_ = slept == Sleep::test;
  return slept;
}

/// Its callers have just looked in vain, so it rests first: what has come meanwhile ends the rest at once.
coll::Across::Sleep Group::await_message(int us) {
  if (engine_->failure()) return Sleep::impossible;
  const Time until = deadline_after(monotonic_now(), Micros{us});
  do {
    rest(until);
    if (look() > 0) return Sleep::test;
  } while (monotonic_now() < until);
  return Sleep::in_vain;
}

coll::Across::Progress Group::wait(void* request) {
  for (;;) {
    const auto progress = test(request);
    if (progress != Progress::pending) return progress;
    rest(kNever);
  }
}

void Group::rest(Time until) {
  if (engine_ != nullptr) until = std::min(until, engine_->next_due());
  waiter_.rest(std::exchange(heard_, 0), *transport_, until);
}

std::size_t Group::look() {
  const std::size_t events = transport_->progress(*this);
  heard_ += events;
  if (engine_ == nullptr) return events;
  // A send that is over brings no event of the transport, but it may end an operation, or let the next part go.
  const auto parts = [this] { return messages() != nullptr ? messages()->parts_left() : 0; };
  const std::size_t live = engine_->live(), before = parts();
  engine_->settle(monotonic_now());
  return events + (live - engine_->live()) + (parts() - before);
}

std::string_view Group::error() const noexcept {
  const auto& failure = engine_->failure();
  return failure ? std::string_view(failure->context) : std::string_view();
}

std::string Group::explain(Kind kind, std::size_t bytes, const coll::Fold* fold) const {
  return p2p::explain(question_of(kind, bytes, fold), limits(), costs_);
}

std::string Group::name_of(std::uint32_t rank) const {
  if (rank < config_.names.size()) return config_.names[rank];
  return rank < members_.hosts.size() ? fmt::format("rank {} (host {})", rank, members_.hosts[rank])
                                      : fmt::format("rank {}", rank);
}

// ---- Carrier

Errc Group::send(std::uint32_t peer, std::span<const std::byte> head, const Payload& body) {
  constexpr std::size_t kFrameHeader = 8;
  const Errc sent = transport_->send(conns_[peer], head, body);
  if (sent == Errc::ok) sent_[peer].taken += kFrameHeader + head.size() + body.bytes.size();
  return sent;
}

std::uint64_t Group::left(std::uint32_t peer) const {
  const std::uint64_t taken = sent_[peer].taken;
  return taken - std::min<std::uint64_t>(taken, transport_->unsent(conns_[peer]));
}

void Group::on_failed() {
  for (const auto& [conn, link] : links_) transport_->close(net::ConnId{conn}, link.is_proven);
  links_.clear();
}

}  // namespace sumac::p2p
