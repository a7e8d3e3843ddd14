#pragma once
// The messages between client library and sharpd: fixed 1024 bytes, one body, or a list of entries numbered from `index`.
// What is checked: magic, version, kind; total, entries and index zero for what is no list, otherwise entries in [1, what fits]
// and index + entries <= total <= kListMax; job_id as the kind needs it; text closed by a zero and zero behind it; numbers in
// range; and that every byte that means nothing is zero.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "wire/host.hpp"
#include "wire/layout.hpp"

namespace sumac::wire {

/// No list of hosts, nodes or leaves is longer: a bound for what a peer can make us keep.
inline constexpr std::uint32_t kListMax = 1u << 16;

/// Bytes of one entry (or of the one body) of a kind, and how many fit into a message. Kinds without a body: 0.
constexpr std::size_t host_entry_bytes(HostKind kind) noexcept {
  switch (kind) {
    case HostKind::attach: return sizeof(AttachBody);
    case HostKind::attached: return sizeof(AttachedBody);
    case HostKind::job_begin: return sizeof(JobBeginBody);
    case HostKind::job_host: return sizeof(JobHostEntry);
    case HostKind::job_granted: return sizeof(JobGrantedBody);
    case HostKind::job_tree: return sizeof(JobTreeBody);
    case HostKind::job_node: return sizeof(JobNodeEntry);
    case HostKind::job_leaf: return sizeof(JobLeafEntry);
    case HostKind::job_refused: return sizeof(JobRefusedBody);
    case HostKind::member: return sizeof(MemberBody);
    case HostKind::job_end:
    case HostKind::job_ended:
    case HostKind::leave: return 0;
  }
  return 0;
}
constexpr bool is_list(HostKind kind) noexcept {
  return kind == HostKind::job_host || kind == HostKind::job_node || kind == HostKind::job_leaf;
}
constexpr std::uint32_t host_entries_max(HostKind kind) noexcept {
  return is_list(kind) ? static_cast<std::uint32_t>(kHostBodyBytes / host_entry_bytes(kind)) : 1;
}

/// Null if every field is right, else which one is not. `bytes` need not be a whole message: then that is the flaw.
const char* flaw_of_host_message(std::span<const std::byte> bytes) noexcept;

/// A message as it came from the socket. After ok the bodies may be read with body<>() and entry<>() without further checks.
Errc decode(std::span<const std::byte> bytes, HostMessage& out) noexcept;
Result<HostMessage> decode_host_message(std::span<const std::byte> bytes);

/// The body of a decoded message, or entry `i` < header.entries of its list.
template <Message Body>
Body host_entry(const HostMessage& message, std::size_t i = 0) noexcept {
  Body body;
  load(body, message.body.data() + i * sizeof(Body));
  return body;
}

/// Makes a message of a kind with one body.
template <Message Body>
HostMessage host_message(HostKind kind, const Body& body, std::uint64_t job_id = 0) noexcept {
  static_assert(sizeof(Body) <= kHostBodyBytes);
  HostMessage message;
  message.header.kind = kind;
  message.header.job_id = job_id;
  store(message.body.data(), body);
  return message;
}
HostMessage host_message(HostKind kind, std::uint64_t job_id) noexcept;

/// Makes one message of a list: entries [index, index + part.size()) of `total`. part.size() <= host_entries_max(kind).
template <Message Entry>
HostMessage host_list(HostKind kind, std::span<const Entry> part, std::uint32_t index, std::uint32_t total,
                      std::uint64_t job_id) noexcept {
  HostMessage message;
  message.header.kind = kind;
  message.header.index = index;
  message.header.total = total;
  message.header.entries = static_cast<std::uint32_t>(part.size());
  message.header.job_id = job_id;
  for (std::size_t i = 0; i < part.size(); ++i) store(message.body.data() + i * sizeof(Entry), part[i]);
  return message;
}

/// The bytes that go to the socket.
std::array<std::byte, kHostMessageBytes> encoded(const HostMessage& message) noexcept;

/// What no text of a message may hold: it goes into logs and file names.
constexpr bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Copies text into a fixed field, closed and filled up with zeros. False if it does not fit or holds a zero: then nothing is copied.
template <std::size_t n>
[[nodiscard]] bool put_text(std::array<char, n>& field, std::string_view text) noexcept {
  if (text.size() >= n || text.find('\0') != std::string_view::npos) return false;
  field.fill('\0');
  text.copy(field.data(), text.size());
  return true;
}
/// The text of a decoded field.
template <std::size_t n>
std::string_view get_text(const std::array<char, n>& field) noexcept {
  const std::string_view all(field.data(), n);
  return all.substr(0, all.find('\0'));
}

std::string_view to_string(HostKind kind) noexcept;
std::string describe(const HostHeader& header);
/// The whole message in one line, also when it is malformed.
std::string describe_host_message(std::span<const std::byte> bytes);

template <>
inline constexpr std::size_t kNumberBytes<Quota> = 4;
template <>
std::span<const FieldRow> layout<HostHeader>() noexcept;
template <>
std::span<const FieldRow> layout<AttachBody>() noexcept;
template <>
std::span<const FieldRow> layout<AttachedBody>() noexcept;
template <>
std::span<const FieldRow> layout<JobBeginBody>() noexcept;
template <>
std::span<const FieldRow> layout<JobHostEntry>() noexcept;
template <>
std::span<const FieldRow> layout<JobGrantedBody>() noexcept;
template <>
std::span<const FieldRow> layout<JobTreeBody>() noexcept;
template <>
std::span<const FieldRow> layout<JobNodeEntry>() noexcept;
template <>
std::span<const FieldRow> layout<JobLeafEntry>() noexcept;
template <>
std::span<const FieldRow> layout<JobRefusedBody>() noexcept;
template <>
std::span<const FieldRow> layout<MemberBody>() noexcept;
/// Rows of the body or entry of a kind; empty for kinds without one.
std::span<const FieldRow> host_layout(HostKind kind) noexcept;

}  // namespace sumac::wire
