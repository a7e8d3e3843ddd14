#pragma once
// The multicast addresses that this process listens to, one for each group whose root offers one. Whatever comes there is only an
// earlier copy of what comes by the tree's link; nothing waits for it, and where none comes the group stops listening by itself.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "base/log.hpp"
#include "net/multicast.hpp"
#include "net/transport.hpp"
#include "proto/client_group.hpp"

namespace sumac::client {

struct MulticastCounts {
  std::uint64_t taken = 0;      ///< Results that came so before the link's copy.
  std::uint64_t late = 0;       ///< After it, or a second time.
  std::uint64_t discarded = 0;  ///< Without the right tag, malformed, or of no operation under way.

  std::uint64_t all() const noexcept { return taken + late + discarded; }
  MulticastCounts& operator+=(const MulticastCounts& other) noexcept {
    taken += other.taken;
    late += other.late;
    discarded += other.discarded;
    return *this;
  }
};

class Listeners {
 public:
  Listeners(net::Transport& transport, BufferPool& pool, const Logger& log)
      : transport_(transport), pool_(pool), log_(log) {}

  /// Joins the group's address where its leaf is reached. False: it has none, or it can't be had here; the log says why, once.
  bool add(proto::ClientGroup& group, net::ConnId leaf);
  void remove(proto::ClientGroup& group) noexcept;
  bool has(const proto::ClientGroup& group) const noexcept;
  /// From inside the transport's pass: takes what is there.
  void on_readable(std::uint32_t token);
  /// The group's own decision: too little comes that way.
  void stopped(net::ConnId leaf, std::uint32_t group_id);

  const MulticastCounts& counts() const noexcept { return counts_; }

 private:
  struct Listener {
    proto::ClientGroup* group = nullptr;  ///< Null: a free place.
    net::ConnId leaf{};
    std::optional<net::MulticastReceiver> receiver;
  };
  void close(Listener& listener) noexcept;
  void tell(const std::string& why);

  net::Transport& transport_;
  BufferPool& pool_;
  const Logger& log_;
  std::vector<Listener> listeners_;  // [token]
  MulticastCounts counts_;
  bool has_told_ = false;
};

/// "mgid: ( subnet prefix: 0x... interface id: 0x... ) mlid:c007" as people know it: the lower half of the interface id is the group's
/// id, the upper one the end of the address (of IPv4 all of it). Without an address zeros.
std::string mgid_text(const std::optional<wire::InvitedBody>& address, std::uint32_t group_id);

}  // namespace sumac::client
