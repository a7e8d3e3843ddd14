#pragma once
// The messages between client library and sharpd have a fixed size of 1024 bytes and hold one body, or a list of
// entries numbered from `index`. Decoding checks magic, version and kind; that total, entries and index are zero unless
// the kind is a list, else that entries is in [1, the most that fits] and index + entries <= total <= kListMax; that
// job_id suits the kind; that text is closed by a zero and filled up with zeros; that numbers are in range; and that
// every unused byte is zero.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "wire/host.hpp"
#include "wire/layout.hpp"

namespace sumac::wire {

/// No list of hosts, nodes or leaves is longer: it bounds the memory that a peer can make us use.
inline constexpr std::uint32_t kListMax = 1u << 16;

/// Returns the bytes of one entry (or of the one body) of a kind; host_entries_max() returns how many fit into a
/// message. Kinds without a body: 0.
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
    case HostKind::member:
    case HostKind::rank_died: return sizeof(MemberBody);
    case HostKind::trees_wanted: return sizeof(TreesWantedBody);
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

/// Returns null if every field is right, else a text on the first wrong one. If `bytes` is not a whole message, that is
/// the flaw.
const char* flaw_of_host_message(std::span<const std::byte> bytes) noexcept;

/// Decodes a message as it came from the socket. After ok the bodies may be read with body<>() and entry<>() without
/// further checks.
Errc decode(std::span<const std::byte> bytes, HostMessage& out) noexcept;
Result<HostMessage> decode_host_message(std::span<const std::byte> bytes);

/// Returns the body of a decoded message, or entry `i` < header.entries of its list.
template <Message Body>
Body host_entry(const HostMessage& message, std::size_t i = 0) noexcept {
  Body body;
  load(body, message.body.data() + i * sizeof(Body));
  return body;
}

/// Makes a message of a kind with one body.
template <Message Body>
HostMessage host_message(HostKind kind, const Body& body, JobId job_id = {}) noexcept {
  static_assert(sizeof(Body) <= kHostBodyBytes);
  HostMessage message;
  message.header.kind = kind;
  message.header.job_id = job_id;
  store(message.body.data(), body);
  return message;
}
HostMessage host_message(HostKind kind, JobId job_id) noexcept;

/// Makes one message of a list: entries [index, index + part.size()) of `total`. part.size() <= host_entries_max(kind).
template <Message Entry>
HostMessage host_list(HostKind kind, std::span<const Entry> part, std::uint32_t index, std::uint32_t total,
                      JobId job_id) noexcept {
  HostMessage message;
  message.header.kind = kind;
  message.header.index = index;
  message.header.total = total;
  message.header.entries = static_cast<std::uint32_t>(part.size());
  message.header.job_id = job_id;
  for (std::size_t i = 0; i < part.size(); ++i) store(message.body.data() + i * sizeof(Entry), part[i]);
  return message;
}

/// Makes the messages of a whole list.
template <Message Entry>
std::vector<HostMessage> host_lists(HostKind kind, const std::vector<Entry>& entries, JobId job_id) {
  std::vector<HostMessage> messages;
  const std::size_t step = host_entries_max(kind);
  for (std::size_t i = 0; i < entries.size(); i += step)
    messages.push_back(host_list(kind, std::span(entries).subspan(i, std::min(step, entries.size() - i)),
                                 static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(entries.size()), job_id));
  return messages;
}

/// Returns the bytes that go to the socket.
std::array<std::byte, kHostMessageBytes> encoded(const HostMessage& message) noexcept;

/// No text of a message may contain such a character: it goes into logs and file names.
constexpr bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Copies text into a fixed field and fills it up with zeros. Returns false, and copies nothing, if the text does not
/// fit or contains a zero.
template <std::size_t n>
[[nodiscard]] bool put_text(std::array<char, n>& field, std::string_view text) noexcept {
  if (text.size() >= n || text.find('\0') != std::string_view::npos) return false;
  field.fill('\0');
  text.copy(field.data(), text.size());
  return true;
}
/// Returns the text of a decoded field.
template <std::size_t n>
std::string_view get_text(const std::array<char, n>& field) noexcept {
  const std::string_view all(field.data(), n);
  return all.substr(0, all.find('\0'));
}

std::string_view to_string(HostKind kind) noexcept;
std::string describe(const HostHeader& header);

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
/// Returns the rows of the body or entry of a kind; empty for kinds without one.
std::span<const FieldRow> host_layout(HostKind kind) noexcept;

}  // namespace sumac::wire
