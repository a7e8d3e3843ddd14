#include "bench/node/speaker.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "net/address.hpp"
#include "net/tcp_frame.hpp"
#include "net/tcp_socket.hpp"
#include "net/transport.hpp"
#include "wire/agg_codec.hpp"
#include "wire/proof.hpp"

namespace sumac::bench {
namespace {

using wire::AggHeader;
using wire::AggKind;

static_assert(kFrameBytes == net::kFrameHeaderBytes + wire::kAggHeaderBytes);

Result<> write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("send");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<> read_all(int fd, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::recv(fd, bytes.data(), bytes.size(), MSG_WAITALL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("recv");
    if (n == 0) return fail(Errc::lost, "the node closed the connection: its log says why");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

AggHeader header_of(AggKind kind, GroupId group = {}) {
  AggHeader header;
  header.kind = kind;
  header.tree_id = kTree;
  header.group_id = group;
  return header;
}

template <class Body>
Result<> say(int fd, const AggHeader& header, const Body& body) {
  const auto message = wire::encoded(header, body);
  if (auto sent = write_all(fd, net::encode_frame_header(net::FrameType::data, message.size())); !sent) return sent;
  return write_all(fd, message);
}

/// Returns the body of the next message, which must be of this kind; frames of the transport itself are skipped.
template <class Body>
Result<Body> hear(int fd, AggKind kind) {
  for (;;) {
    std::array<std::byte, net::kFrameHeaderBytes> frame;
    if (auto got = read_all(fd, frame); !got) return tl::unexpected(got.error());
    std::uint32_t length = 0;
    std::memcpy(&length, frame.data() + 4, sizeof length);
    std::vector<std::byte> content(length);
    if (auto got = read_all(fd, content); !got) return tl::unexpected(got.error());
    if (static_cast<net::FrameType>(frame[2]) != net::FrameType::data) continue;
    auto header = wire::decode_agg_header(content, wire::kPayloadMax);
    if (!header) return tl::unexpected(header.error());
    if (header->kind != kind) return fail(Errc::invalid, "the node says: {}", wire::describe(*header));
    Body body;
    if (wire::decode(std::span<const std::byte>(content).subspan(wire::kAggHeaderBytes), body) != Errc::ok)
      return fail(Errc::invalid, "the body of '{}' from the node is malformed", wire::describe(*header));
    return body;
  }
}

AggHeader data_header(const Talk& talk, GroupId group, std::uint32_t sequence) {
  AggHeader h = header_of(AggKind::contribute, group);
  h.sequence = Sequence{sequence};
  h.coll = wire::Coll::allreduce;
  h.op = Op::sum;
  h.dtype = Dtype::float32;
  h.flags = wire::kFlagFirst | wire::kFlagLast | (talk.streaming ? wire::kFlagStreaming : 0);
  h.payload_bytes = static_cast<std::uint32_t>(talk.bytes);
  h.count = talk.bytes / sizeof(float);
  return h;
}

void store_frame(std::byte* to, const Talk& talk, const AggHeader& header) {
  const auto frame =
      net::encode_frame_header(net::FrameType::data, static_cast<std::uint32_t>(wire::kAggHeaderBytes + talk.bytes));
  std::memcpy(to, frame.data(), frame.size());
  wire::store(to + frame.size(), header);
}

}  // namespace

Result<UniqueFd> connect_child(const std::string& address) {
  auto to = net::parse_address(address);
  if (!to) return tl::unexpected(to.error());
  UniqueFd fd(::socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("socket");
  if (auto set = net::set_stream_options(fd.get(), net::TransportConfig{}.user_timeout); !set)
    return tl::unexpected(set.error());
  if (::connect(fd.get(), to->get(), to->length) != 0) return fail_errno(fmt::format("connect {}", address));
  return fd;
}

Result<GroupId> form_group(const std::vector<UniqueFd>& children, const Talk& talk) {
  for (std::uint32_t rank = 0; rank < children.size(); ++rank) {
    const int fd = children[rank].get();
    if (auto sent = write_all(fd, net::encode_greeting(net::FrameType::hello, 2u << 20)); !sent)
      return tl::unexpected(sent.error());
    wire::HelloBody hello;
    hello.job_id = kJob;
    hello.id = rank;
    if (auto sent = say(fd, header_of(AggKind::hello), hello); !sent) return tl::unexpected(sent.error());
    auto welcome = hear<wire::WelcomeBody>(fd, AggKind::welcome);
    if (!welcome) return within("hello", welcome.error());
    net::SocketAddress node;
    node.length = sizeof node.storage;
    if (::getpeername(fd, node.get(), &node.length) != 0) return fail_errno("getpeername");
    const auto address = "tcp:" + net::format_address(node);
    wire::ProofBody proof;
    if (!wire::make_proof(wire::ProvingSide::child, kJobKey, {kTree, hello, *welcome, address}, proof.proof))
      return fail(Errc::unsupported, "no proof can be made");
    if (auto sent = say(fd, header_of(AggKind::proof), proof); !sent) return tl::unexpected(sent.error());
  }
  const wire::OpenBody open{kJob, 1, talk.children, 0};
  if (auto sent = say(children[0].get(), header_of(AggKind::open), open); !sent) return tl::unexpected(sent.error());
  auto opened = hear<wire::OpenedBody>(children[0].get(), AggKind::opened);
  if (!opened) return within("open a group", opened.error());
  for (std::uint32_t rank = 0; rank < children.size(); ++rank) {
    wire::JoinBody join;
    join.job_id = kJob;
    join.rank = rank;
    join.world_rank = WorldRank{rank};
    join.group_size = talk.children;
    join.osts = talk.streaming ? 2 : talk.window;
    join.stream_window = talk.streaming ? talk.window : 0;
    join.payload_per_ost = talk.streaming ? 128 : static_cast<std::uint32_t>(talk.bytes);
    join.chunk_bytes = talk.streaming ? static_cast<std::uint32_t>(talk.bytes) : 0;
    join.path_length = 1;
    join.path[0] = {kNode, talk.children};
    if (auto sent = say(children[rank].get(), header_of(AggKind::join, opened->group_id), join); !sent)
      return tl::unexpected(sent.error());
  }
  for (const auto& child : children) {
    auto joined = hear<wire::JoinedBody>(child.get(), AggKind::joined);
    if (!joined) return within("join the group", joined.error());
    if ((talk.streaming ? joined->stream_window : joined->osts) != talk.window)
      return fail(Errc::invalid, "the node gives another window than {}: grant it more", talk.window);
  }
  return opened->group_id;
}

void write_head(std::byte* to, const Talk& talk, GroupId group, std::uint32_t child, std::uint32_t sequence) {
  AggHeader header = data_header(talk, group, sequence);
  header.origin = child;
  header.members = 1;
  store_frame(to, talk, header);
}

std::vector<std::byte> contribution(const Talk& talk, std::uint32_t child) {
  std::vector<float> values(talk.bytes / sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((child + 1) * (i % 97));
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> expected_result(const Talk& talk, GroupId group, std::uint32_t sequence) {
  AggHeader header = data_header(talk, group, sequence);
  header.kind = AggKind::result;
  header.closed = seq_next(header.sequence);  // all children have contributed it, and none the next one
  std::vector<std::byte> frame(kFrameBytes + talk.bytes);
  store_frame(frame.data(), talk, header);
  std::vector<float> sum(talk.bytes / sizeof(float));
  const std::uint32_t factor = talk.children * (talk.children + 1) / 2;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<float>(factor * (i % 97));
  if (talk.bytes != 0) std::memcpy(frame.data() + kFrameBytes, sum.data(), talk.bytes);
  return frame;
}

}  // namespace sumac::bench
