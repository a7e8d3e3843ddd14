#include "wire/host_codec.hpp"

#include <algorithm>

#include "wire/agg.hpp"

namespace sumac::wire {
namespace {

/// A text field ends with a zero, has only zeros after it, and contains no control characters (it goes into logs and
/// file names).
template <std::size_t n>
bool is_text(const std::array<char, n>& field) noexcept {
  const auto end = std::find(field.begin(), field.end(), '\0');
  if (end == field.end()) return false;
  return std::none_of(field.begin(), end, is_control) &&
         std::all_of(end, field.end(), [](char c) { return c == '\0'; });
}
template <std::size_t n>
bool is_name(const std::array<char, n>& field) noexcept {
  return field[0] != '\0' && is_text(field);
}

const char* flaw(const AttachBody& b) noexcept {
  if (b.world_size == 0 || number_of(b.world_rank) >= b.world_size) return "attach: world_rank is not in the world";
  if (b.local_rank >= b.world_size) return "attach: local_rank is not in the world";
  if (b.reserved != 0) return "attach: reserved is not zero";
  return nullptr;
}

const char* flaw(const AttachedBody& b) noexcept {
  if (!is_name(b.host)) return "attached: host is no name";
  return is_text(b.devices) ? nullptr : "attached: devices is no text";
}

const char* flaw(const JobBeginBody& b) noexcept {
  if (b.world_size == 0) return "job_begin: world_size is zero";
  if (b.host_count == 0 || b.host_count > kListMax) return "job_begin: host_count is out of range";
  if (b.host_count > b.world_size) return "job_begin: more hosts than ranks";
  if (b.quota.stream_window != 0 || b.quota.chunk_bytes != 0)
    return "job_begin: stream_window or chunk_bytes is set, which the manager chooses";
  if ((b.flags & ~kOutlivesTrees) != 0) return "job_begin: a bit without a meaning is set";
  return is_text(b.devices) ? nullptr : "job_begin: devices is no text";
}

const char* flaw(const JobHostEntry& b) noexcept { return is_name(b.host) ? nullptr : "job_host: host is no name"; }

const char* flaw(const JobGrantedBody& b) noexcept {
  if (b.quota.osts == 0 || b.quota.max_groups == 0) return "job_granted: a grant without OSTs or groups";
  if (b.quota.payload_per_ost == 0 || b.quota.payload_per_ost > kPayloadMax)
    return "job_granted: payload_per_ost is out of range";
  if (b.tree_count == 0 || b.tree_count > kTreesMax) return "job_granted: tree_count is out of range";
  if (b.quota.chunk_bytes > kPayloadMax) return "job_granted: chunk_bytes is out of range";
  return nullptr;
}

const char* flaw(const JobTreeBody& b) noexcept {
  if (b.tree_index >= kTreesMax) return "job_tree: tree_index is out of range";
  if (b.node_count == 0 || b.node_count > kListMax) return "job_tree: node_count is out of range";
  if (b.member_nodes > b.node_count) return "job_tree: more nodes on member hosts than nodes";
  if (b.reserved != 0) return "job_tree: reserved is not zero";
  return nullptr;
}

const char* flaw(const JobNodeEntry& b) noexcept {
  if (!is_name(b.name)) return "job_node: name is no name";
  if (!is_name(b.address)) return "job_node: address is no text";
  return nullptr;
}

const char* flaw(const JobLeafEntry&) noexcept { return nullptr; }  // any number may be a node's id

const char* flaw(const JobRefusedBody& b) noexcept {
  if (b.status == 0) return "job_refused: status is zero";
  if (b.reserved != 0) return "job_refused: reserved is not zero";
  return is_text(b.text) ? nullptr : "job_refused: text is not closed";
}

const char* flaw(const MemberBody& b) noexcept {
  return b.flags <= kHearsDeaths ? nullptr : "member: flags is unknown";
}

const char* flaw_of_death(const MemberBody& b) noexcept {
  const bool is_plain =
      b.flags == 0 && std::ranges::all_of(b.job_key, [](auto byte) { return byte == decltype(byte){}; });
  return is_plain ? nullptr : "rank_died: flags or the key is not zero";
}

const char* flaw(const TreesWantedBody& b) noexcept {
  return b.reserved == 0 ? nullptr : "trees_wanted: reserved is not zero";
}

template <Message Body>
const char* flaw_of_entries(const HostMessage& message, std::size_t entries) noexcept {
  for (std::size_t i = 0; i < entries; ++i)
    if (const char* what = flaw(host_entry<Body>(message, i)); what != nullptr) return what;
  return nullptr;
}

const char* flaw_of_list(const HostHeader& h) noexcept {
  if (!is_list(h.kind)) return h.index == 0 && h.total == 0 && h.entries == 0 ? nullptr : "a list where there is none";
  if (h.entries == 0 || h.entries > host_entries_max(h.kind))
    return "entries is more than fits into a message, or zero";
  if (h.total > kListMax) return "total is out of range";
  if (h.index > h.total || h.entries > h.total - h.index) return "entries reach past total";
  return nullptr;
}

/// The client chooses the id and first states it in job_begin; 0 means no job.
const char* flaw_of_job_id(const HostHeader& h) noexcept {
  if (h.kind == HostKind::attach || h.kind == HostKind::attached)
    return h.job_id == JobId{} ? nullptr : "job_id is set where no job is meant";
  return h.job_id != JobId{} ? nullptr : "job_id is zero";
}

const char* flaw(const HostMessage& message) noexcept {
  const HostHeader& h = message.header;
  if (h.magic != kHostMagic) return "magic is not 0x4853";
  if (h.version != kHostVersion) return "version is not spoken here";
  if (h.kind < HostKind::attach || h.kind > HostKind::trees_wanted) return "kind is unknown";
  if (const char* what = flaw_of_list(h); what != nullptr) return what;
  if (const char* what = flaw_of_job_id(h); what != nullptr) return what;
  const std::size_t entries = is_list(h.kind) ? h.entries : 1;
  const auto rest = std::span(message.body).subspan(entries * host_entry_bytes(h.kind));
  if (!std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; }))
    return "bytes after the body are not zero";
  switch (h.kind) {
    case HostKind::attach: return flaw_of_entries<AttachBody>(message, entries);
    case HostKind::attached: return flaw_of_entries<AttachedBody>(message, entries);
    case HostKind::job_begin: return flaw_of_entries<JobBeginBody>(message, entries);
    case HostKind::job_host: return flaw_of_entries<JobHostEntry>(message, entries);
    case HostKind::job_granted: return flaw_of_entries<JobGrantedBody>(message, entries);
    case HostKind::job_tree: return flaw_of_entries<JobTreeBody>(message, entries);
    case HostKind::job_node: return flaw_of_entries<JobNodeEntry>(message, entries);
    case HostKind::job_leaf: return flaw_of_entries<JobLeafEntry>(message, entries);
    case HostKind::job_refused: return flaw_of_entries<JobRefusedBody>(message, entries);
    case HostKind::member: return flaw_of_entries<MemberBody>(message, entries);
    case HostKind::rank_died: return flaw_of_death(host_entry<MemberBody>(message));
    case HostKind::trees_wanted: return flaw_of_entries<TreesWantedBody>(message, entries);
    case HostKind::job_end:
    case HostKind::job_ended:
    case HostKind::leave: return nullptr;
  }
  return nullptr;
}

void read_message(std::span<const std::byte> bytes, HostMessage& out) noexcept {
  load(out.header, bytes.data());
  std::copy_n(bytes.begin() + sizeof(HostHeader), kHostBodyBytes, out.body.begin());
}

}  // namespace

const char* flaw_of_host_message(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != kHostMessageBytes) return "a message has 1024 bytes";
  HostMessage message;
  read_message(bytes, message);
  return flaw(message);
}

Errc decode(std::span<const std::byte> bytes, HostMessage& out) noexcept {
  if (bytes.size() != kHostMessageBytes) return Errc::invalid;
  read_message(bytes, out);
  return flaw(out) == nullptr ? Errc::ok : Errc::invalid;
}

Result<HostMessage> decode_host_message(std::span<const std::byte> bytes) {
  if (bytes.size() != kHostMessageBytes)
    return fail(Errc::invalid, "malformed: {} bytes, not {}", bytes.size(), kHostMessageBytes);
  HostMessage message;
  read_message(bytes, message);
  if (message.header.magic == kHostMagic && message.header.version != kHostVersion)
    return fail(
        Errc::unsupported,
        "the other side speaks version {} of the messages between sharpd and library, this one {}: install the same "
        "version of both",
        message.header.version, kHostVersion);
  if (const char* what = flaw(message); what != nullptr)
    return fail(Errc::invalid, "malformed: {}: {}", what,
                dump_fields(bytes.first(sizeof(HostHeader)), layout<HostHeader>()));
  return message;
}

HostMessage host_message(HostKind kind, JobId job_id) noexcept {
  HostMessage message;
  message.header.kind = kind;
  message.header.job_id = job_id;
  return message;
}

std::array<std::byte, kHostMessageBytes> encoded(const HostMessage& message) noexcept {
  std::array<std::byte, kHostMessageBytes> bytes;
  store(bytes.data(), message.header);
  std::copy(message.body.begin(), message.body.end(), bytes.begin() + sizeof(HostHeader));
  return bytes;
}

std::string_view to_string(HostKind kind) noexcept {
  switch (kind) {
    case HostKind::attach: return "attach";
    case HostKind::attached: return "attached";
    case HostKind::job_begin: return "job_begin";
    case HostKind::job_host: return "job_host";
    case HostKind::job_granted: return "job_granted";
    case HostKind::job_tree: return "job_tree";
    case HostKind::job_node: return "job_node";
    case HostKind::job_leaf: return "job_leaf";
    case HostKind::job_refused: return "job_refused";
    case HostKind::job_end: return "job_end";
    case HostKind::job_ended: return "job_ended";
    case HostKind::member: return "member";
    case HostKind::leave: return "leave";
    case HostKind::rank_died: return "rank_died";
    case HostKind::trees_wanted: return "trees_wanted";
  }
  return "?";
}

std::string describe(const HostHeader& h) {
  std::string text{to_string(h.kind)};
  if (h.job_id != JobId{}) text += fmt::format(" job {}", h.job_id);
  if (is_list(h.kind) && h.entries != 0)
    text += fmt::format(" entries {}-{} of {}", h.index, h.index + h.entries - 1, h.total);
  return text;
}

}  // namespace sumac::wire
