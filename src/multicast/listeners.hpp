#pragma once
// The multicast addresses to which this process listens, one for each group whose root offers one. A datagram there is
// only an early copy of a result that also comes by the tree's link. No operation waits for it, and if none comes the
// group stops listening by itself.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "base/log.hpp"
#include "multicast/socket.hpp"
#include "net/transport.hpp"
#include "proto/client_group.hpp"

namespace sumac::multicast {

struct Counts {
  std::uint64_t taken = 0;      ///< Results that came by multicast before the link's copy.
  std::uint64_t late = 0;       ///< Results that came after it, or a second time.
  std::uint64_t discarded = 0;  ///< Datagrams without the right tag, malformed, or for no operation under way.

  std::uint64_t all() const noexcept { return taken + late + discarded; }
  Counts& operator+=(const Counts& other) noexcept {
    taken += other.taken;
    late += other.late;
    discarded += other.discarded;
    return *this;
  }
};

class Listeners final : public proto::Multicast {
 public:
  Listeners(net::Transport& transport, BufferPool& pool, const Logger& log)
      : transport_(transport), pool_(pool), log_(log) {}

  /// Joins the group's address on the interface that reaches its leaf. Returns false if the group has none or joining
  /// fails; the log gives the reason once.
  bool add(proto::ClientGroup& group, net::ConnId leaf);
  void remove(proto::ClientGroup& group) noexcept;
  bool has(const proto::ClientGroup& group) const noexcept;
  /// Called inside the transport's pass: receives the datagrams that are there.
  void on_readable(std::uint32_t token);
  /// Called when the group itself stops, because too few results come by multicast.
  void stopped_listening(proto::LinkId leaf, GroupId group_id) override;

  const Counts& counts() const noexcept { return counts_; }

 private:
  struct Listener {
    proto::ClientGroup* group = nullptr;  ///< Null: the slot is free.
    net::ConnId leaf{};
    std::optional<ReceiveSocket> receiver;
  };
  void close(Listener& listener) noexcept;
  void tell(const std::string& why);

  net::Transport& transport_;
  BufferPool& pool_;
  const Logger& log_;
  std::vector<Listener> listeners_;  // Indexed by token.
  Counts counts_;
  bool has_told_ = false;
};

/// Makes "mgid: ( subnet prefix: 0x... interface id: 0x... ) mlid:c007", the form that users know: the lower half of
/// the interface id is the group's id, the upper half the end of the address (for IPv4 all of it). Without an address
/// all are zero.
std::string mgid_text(const std::optional<wire::InvitedBody>& address, GroupId group_id);

}  // namespace sumac::multicast
