#pragma once
// All ranks of a job that makes its teams without MPI, and messages among them: inside a host by pipes in a memory that its
// ranks share, between hosts by the group of src/p2p that connects all of them. Teams of some of them meet by such messages
// (message_exchange.hpp), and a front end may send its own: the lower half of the tags is free for it.
//
// Any thread may call it. Nothing moves but inside progress().
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "p2p/matcher.hpp"
#include "p2p/message_ways.hpp"
#include "p2p/team_groups.hpp"
#include "rank/exchange.hpp"
#include "rank/members.hpp"
#include "shm/segment/block.hpp"

namespace sumac::rank {

/// Tags from here on are those of message_exchange.cpp.
inline constexpr std::uint32_t kTagsOfExchanges = 0x80000000u;

class Peers {
 public:
  /// Collective over the ranks of the exchange, which it connects. The last owner closes the object.
  static Result<std::shared_ptr<Peers>> make(Exchange& exchange, std::string_view product);

  /// For a front end that makes its ways between hosts itself: share() follows, and bind() where there are several hosts.
  explicit Peers(Members members) : members_(std::move(members)), matcher_(members_.size()) {}
  Peers(const Peers&) = delete;
  /// Collective. The memory of a host begins with so many bytes, zeros at first, for the front end itself.
  Result<> share(Exchange& exchange, std::size_t own_bytes);
  std::byte* own_memory() noexcept { return block_.data(); }
  void bind(p2p::TeamGroups& hosts) { between_->bind(hosts); }
  /// Ends all messages for this reason. Nothing else may follow but more of these calls.
  void close(const Error& why);

  const Members& members() const noexcept { return members_; }
  /// Null where all ranks are on this host.
  p2p::MessagesBetween* between() noexcept { return between_.get(); }
  /// The number of the latest collective that this rank has begun: the front end counts.
  std::atomic<std::uint64_t>& numbers() noexcept { return numbers_; }

  /// The memory stays until the message is done, or withdrawn. `then` is called once, inside a call of this object.
  std::shared_ptr<p2p::Message> send(int to, std::uint32_t tag, const void* data, std::size_t bytes,
                                     std::function<void(const Error*)> then = nullptr);
  std::shared_ptr<p2p::Message> receive(int from, std::uint32_t tag, void* data, std::size_t bytes,
                                        std::function<void(const Error*)> then = nullptr);
  /// Ends a message with this reason, unless it is done.
  void withdraw(const std::shared_ptr<p2p::Message>& message, Error why);
  /// Moves what can move; returns false if nothing moved.
  bool progress();
  bool is_busy() const noexcept { return matcher_.is_busy(); }
  /// True if a rank of this host has died.
  bool is_dead(int rank);

 private:
  Result<> connect(Exchange& exchange);
  /// The messages of the object outlive the result.
  p2p::MessageWays ways() { return {matcher_, *here_, between_.get(), members_}; }

  Members members_;
  shm::Block block_;
  p2p::Matcher matcher_;
  std::atomic<std::uint64_t> numbers_{0};
  std::unique_ptr<p2p::MessagesHere> here_;
  std::unique_ptr<p2p::MessagesBetween> between_;
  std::unique_ptr<p2p::TeamGroups> hosts_;  ///< Made by connect().
};

/// Makes of an exchange the function that shm::Block::share() calls.
std::function<Result<std::vector<std::string>>(const std::string&)> texts_by(Exchange& exchange);
/// Makes of an exchange the function that p2p::TeamGroups::make() calls.
std::function<Result<std::vector<std::vector<std::byte>>>(std::span<const std::byte>)> blobs_by(Exchange& exchange);

}  // namespace sumac::rank
