#include "client/recovery/links.hpp"

#include <algorithm>
#include <cstring>

#include "net/waiter.hpp"

namespace sumac::client {
namespace {
/// A transport copies a head of at most so many bytes.
constexpr std::size_t kCopied = 256;
constexpr std::size_t kQueueBytes = std::size_t{16} << 20;
constexpr Duration kClosePatience = Seconds(1);
}  // namespace

Result<std::unique_ptr<MemberLinks>> MemberLinks::make(const Config& config, MemberEvents& events, const Logger& log) {
  std::unique_ptr<MemberLinks> links(new MemberLinks(config, events, log));
  net::TransportConfig transport;
  transport.listen = config.listen;
  transport.message_max = config.message_max;
  transport.queue_max = kQueueBytes;
  transport.connections_max = 2 * std::size_t{config.members} + config.strangers_max;
  transport.stranger_bytes = 2 * wire::kPeerHeaderBytes;
  transport.strangers_max = config.strangers_max;
  transport.handshake_timeout = config.handshake_within;
  auto made = net::make_transport(transport, links->pool_);
  if (!made) return tl::unexpected(made.error());
  links->transport_ = *std::move(made);
  return links;
}

MemberLinks::~MemberLinks() { wipe(config_.key); }

// ---- sending

bool MemberLinks::put(net::ConnId conn, std::span<const std::byte> frame) {
  if (frame.size() <= kCopied) return transport_->send(conn, frame, {}) == Errc::ok;
  const auto head = frame.first(kCopied), rest = frame.subspan(kCopied);
  BufferRef buffer = pool_.acquire(rest.size());
  if (!buffer) return false;
  std::memcpy(buffer.data(), rest.data(), rest.size());
  return transport_->send(conn, head, {{buffer.data(), rest.size()}, buffer}) == Errc::ok;
}

void MemberLinks::send(WorldRank to, std::span<const std::byte> head, std::span<const std::byte> data) {
  const std::uint32_t rank = number_of(to);
  Peer& peer = peers_[rank];
  std::vector<std::byte> frame(head.begin(), head.end());
  frame.insert(frame.end(), data.begin(), data.end());
  if (peer.link) {
    if (put(peer.link, frame)) return;
    return lose(rank);
  }
  if (peer.waiting.size() >= kWaitingMax) {
    peer.waiting.clear();
    return lose(rank);
  }
  peer.waiting.push_back(std::move(frame));
  if (!peer.attempt && peer.retry_at == kNever) connect(rank);
}

void MemberLinks::note(WorldRank to, MemberWord word, std::uint32_t number, TreeId tree) {
  wire::PeerHeader note;
  note.kind = wire::PeerKind::note;
  note.index = static_cast<std::uint32_t>(word);
  note.sequence = number;
  note.group = number_of(tree);
  std::array<std::byte, wire::kPeerHeaderBytes> bytes;
  wire::store(bytes.data(), note);
  send(to, bytes, {});
}

void MemberLinks::connect(std::uint32_t rank) {
  Peer& peer = peers_[rank];
  peer.retry_at = kNever;
  if (rank < addresses_.size())
    if (auto conn = transport_->connect(addresses_[rank])) {
      peer.attempt = *conn;
      peer.attempt_at = monotonic_now();
      conns_[conn->value] = {.rank = rank, .is_ours = true};
      return;
    }
  retry_later(rank);
}

void MemberLinks::retry_later(std::uint32_t rank) {
  Peer& peer = peers_[rank];
  const Time now = monotonic_now();
  peer.retry_at = now + peer.pause;
  peer.pause = std::min(2 * peer.pause, kRetryMax);
  retry_due_ = std::min(retry_due_, peer.retry_at);
}

void MemberLinks::retry(Time now) {
  if (now < retry_due_) return;
  retry_due_ = kNever;
  for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
    if (peers_[rank].retry_at <= now) connect(rank);
    retry_due_ = std::min(retry_due_, peers_[rank].retry_at);
  }
}

// ---- the end of a connection

void MemberLinks::drop(WorldRank peer, const Error& why) {
  SUMAC_ERROR(log_, "connection to rank {} ended: {}", peer, why.context);
  lose(number_of(peer));
}

/// May be called from inside of a group, so the loss is told later.
void MemberLinks::lose(std::uint32_t rank) {
  if (const auto link = std::exchange(peers_[rank].link, {})) end(link);
  lost_.push_back(rank);
}

void MemberLinks::end(net::ConnId conn) {
  conns_.erase(conn.value);
  transport_->close(conn);
}

void MemberLinks::tell_lost() {
  for (const std::uint32_t rank : std::exchange(lost_, {})) events_.on_member_lost(WorldRank{rank});
}

void MemberLinks::on_closed(net::ConnId id, const Error& why) {
  const auto at = conns_.find(id.value);
  if (at == conns_.end()) return;
  const std::uint32_t rank = at->second.rank;
  conns_.erase(at);
  if (rank == kNobody) return;
  Peer& peer = peers_[rank];
  if (peer.link == id) {
    SUMAC_DEBUG(log_, "connection to rank {} ended: {}", rank, why.context);
    peer.link = {};
    events_.on_member_lost(WorldRank{rank});
  } else if (peer.attempt == id) {
    peer.attempt = {};
    if (!peer.waiting.empty()) retry_later(rank);
    note_attempt(rank, net::unreached(why));
  }
}

/// Nobody may be left who says that a rank died: its sharpd was dead, or went with its host.
void MemberLinks::note_attempt(std::uint32_t rank, net::Unreached how) {
  Peer& peer = peers_[rank];
  const Time now = monotonic_now();
  const auto lasts = [&](Time& since, bool is_so, Duration longest) {
    since = is_so ? std::min(since, peer.attempt_at) : kNever;
    return is_so && now - since >= longest;
  };
  const bool refuses = lasts(peer.refused_since, how == net::Unreached::refused, config_.refused_for);
  const bool is_silent = lasts(peer.unreached_since, how != net::Unreached::no, config_.silent_for);
  if (refuses || is_silent) events_.on_member_unreached(WorldRank{rank});
}

void MemberLinks::close(std::span<const WorldRank> dead) {
  const Time until = monotonic_now() + kClosePatience;
  const auto waits_for_none = [&] {
    for (std::uint32_t rank = 0; rank < peers_.size(); ++rank)
      if (!peers_[rank].waiting.empty() && std::ranges::count(dead, WorldRank{rank}) == 0) return false;
    return true;
  };
  net::Waiter waiter;
  // The last words of this process: that it gives up, or that all may leave.
  while (!waits_for_none() && monotonic_now() < until)
    waiter.wait(progress(true), *transport_, std::min(until, next_due()));
  for (Peer& peer : peers_) {
    if (peer.link) transport_->close(peer.link, true);
    if (peer.attempt) transport_->close(peer.attempt);
    peer = {};
  }
  conns_.clear();
  while (transport_->flushing() > 0 && monotonic_now() < until)
    waiter.wait(transport_->progress(*this), *transport_, until);
}

std::size_t MemberLinks::progress(bool has_come) {
  if (!has_come && retry_due_ == kNever && arm()) return 0;
  if (retry_due_ != kNever) retry(monotonic_now());
  std::size_t events = lost_.size();
  tell_lost();
  events += transport_->progress(*this);
  events += lost_.size();
  tell_lost();
  return events;
}

void MemberLinks::on_message(net::ConnId id, BufferRef frame) {
  const auto at = conns_.find(id.value);
  if (at == conns_.end()) return;
  Conn& conn = at->second;
  const std::uint32_t rank = conn.rank;
  if (conn.is_proven && rank != kNobody && peers_[rank].link == id) {
    std::uint16_t magic = 0;
    if (frame.size() >= sizeof magic) std::memcpy(&magic, frame.data(), sizeof magic);
    if (magic != wire::kPeerMagic) return events_.on_member_message(WorldRank{rank}, frame.bytes());
  }
  const char* what = on_handshake(id, conn, frame);
  if (what == nullptr) return;
  SUMAC_DEBUG(log_, "{}: {}", transport_->peer(id), what);
  transport_->close(id);
  on_closed(id, Error{Errc::invalid, what});
}

}  // namespace sumac::client
