#include "multicast/listeners.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/datagram.hpp"

namespace sumac::multicast {
namespace {

constexpr int kDatagramsPerPass = 16;  ///< A flood of them must not starve the links.

/// The values that SHARP prints: every multicast group of InfiniBand that it makes has this prefix and a lid in this
/// range.
constexpr std::uint64_t kSubnetPrefix = 0xff12a01bfe800000;
constexpr std::uint32_t kMulticastLids = 0xc000, kMulticastLidMask = 0x3fff;

}  // namespace

std::string mgid_text(const std::optional<wire::InvitedBody>& address, GroupId group_id) {
  std::uint64_t prefix = 0, interface = 0;
  std::uint32_t lid = 0;
  if (address) {
    prefix = kSubnetPrefix;
    for (std::size_t i = 12; i < 16; ++i) interface = interface << 8 | address->address[i];
    interface = interface << 32 | number_of(group_id);
    lid = kMulticastLids | (number_of(group_id) & kMulticastLidMask);
  }
  return fmt::format("mgid: ( subnet prefix: 0x{:x} interface id: 0x{:x} ) mlid:{:x}", prefix, interface, lid);
}

bool Listeners::has(const proto::ClientGroup& group) const noexcept {
  return std::ranges::find(listeners_, &group, &Listener::group) != listeners_.end();
}

void Listeners::tell(const std::string& why) {
  if (std::exchange(has_told_, true)) return;
  SUMAC_DEBUG(log_, "no multicast here, results come by the tree's links only: {}", why);
}

bool Listeners::add(proto::ClientGroup& group, net::ConnId leaf) {
  const auto& invitation = group.invitation();
  if (!invitation) return false;
  const auto local = net::parse_address(transport_.local(leaf));
  if (!local) return tell("the transport is not tcp"), false;
  auto receiver = ReceiveSocket::join(from_wire(invitation->address, invitation->port), *local);
  if (!receiver) return tell(receiver.error().context), false;
  std::size_t token = 0;
  while (token < listeners_.size() && listeners_[token].group != nullptr) ++token;
  if (transport_.add_reader(receiver->fd(), static_cast<std::uint32_t>(token)) != Errc::ok)
    return tell("its socket can't be waited for"), false;
  if (token == listeners_.size()) listeners_.emplace_back();
  listeners_[token] = {&group, leaf, std::move(*receiver)};
  group.listen(true);
  return true;
}

void Listeners::close(Listener& listener) noexcept {
  if (!listener.receiver) return;
  transport_.remove_reader(listener.receiver->fd());
  listener.receiver.reset();
}

void Listeners::remove(proto::ClientGroup& group) noexcept {
  for (auto& listener : listeners_) {
    if (listener.group != &group) continue;
    group.listen(false);
    close(listener);
    listener.group = nullptr;
  }
}

void Listeners::stopped_listening(proto::LinkId leaf, GroupId group_id) {
  for (auto& listener : listeners_) {
    if (listener.group == nullptr || listener.leaf.value != leaf.value || listener.group->config().group_id != group_id)
      continue;
    close(listener);
    tell(fmt::format("group {:x} got too few results by it before its link's", group_id));
  }
}

void Listeners::on_readable(std::uint32_t token) {
  if (token >= listeners_.size()) return;
  for (int i = 0; i < kDatagramsPerPass; ++i) {
    // The listener is looked up for each datagram, because a result may end its group and so the listener.
    Listener& listener = listeners_[token];
    if (!listener.receiver) return;
    std::array<std::byte, wire::kDatagramMax + 1> bytes;
    const std::size_t size = listener.receiver->receive(bytes);
    if (size == 0) return;
    const auto datagram = std::span(bytes).first(size);
    wire::AggHeader header;
    BufferRef frame;
    if (wire::open_datagram(datagram, listener.group->invitation()->key, header) == Errc::ok)
      frame = pool_.acquire(size - wire::kTagBytes);
    if (!frame) {
      ++counts_.discarded;
      continue;
    }
    std::memcpy(frame.data(), datagram.data(), frame.size());
    switch (listener.group->on_multicast(header, frame, monotonic_now())) {
      case proto::ClientGroup::Heard::taken: ++counts_.taken; break;
      case proto::ClientGroup::Heard::late: ++counts_.late; break;
      case proto::ClientGroup::Heard::discarded: ++counts_.discarded; break;
    }
  }
}

}  // namespace sumac::multicast
