#pragma once
// Messages to and from ranks of other hosts, by the group that connects all ranks (p2p/messages.hpp), and what ranks of
// different hosts report to each other about operations: a rank that has waited for seconds asks the others whether they
// have begun the operation, and those that have answer. So it can name those that have not, and nothing is sent while all
// goes well.
#include <atomic>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "p2p/matcher.hpp"
#include "p2p/messages_here.hpp"
#include "p2p/team_groups.hpp"

namespace sumac::p2p {

class MessagesBetween final : public MessageEvents {
 public:
  /// `numbers` is the number of the latest collective that this rank has begun. All arguments outlive it.
  MessagesBetween(const Ranks& ranks, Matcher& matcher, MessagesHere& here, const std::atomic<std::uint64_t>& numbers);

  /// Before it nothing can be sent, and what comes is kept.
  void bind(TeamGroups& groups) { groups_ = &groups; }

  void send(const std::shared_ptr<Message>& message);
  /// Fetches the bytes of a kept offer.
  void fetch(const std::shared_ptr<Message>& message, const Matcher::Kept& offer);
  /// A kept message of this rank has been given to its receive.
  void release(int from);
  /// Ends a receive whose sender cannot send any more.
  void check(const std::shared_ptr<Message>& message);
  /// Moves what can move, but ends no message: no function of a poster is called. Returns false if nothing moved.
  bool step();
  /// Ends the messages that are over.
  void conclude();
  /// Sleeps at most so long, until something comes. Returns false at once if it cannot.
  bool await_message(Duration at_most);
  /// True if the message was under way; its memory is not used any more.
  bool withdraw(const std::shared_ptr<Message>& message);
  void close(const Error& why);

  // ---- operations
  /// Asks the ranks of other hosts whether they have begun this operation.
  void ask(std::uint64_t number);
  /// True if that rank is known to have begun it.
  bool has_come(int rank, std::uint64_t number) const noexcept;
  /// The ranks of other hosts read the reason; no operation between hosts is possible any more.
  void break_because(const Error& why);
  bool has_failed() const noexcept { return has_failed_.load(); }
  /// Why the ranks of other hosts cannot be reached any more.
  std::optional<Error> failure() const;
  /// Waits for it, but not long.
  std::optional<Error> await_failure(Duration at_most);

 private:
  /// The words of notes.
  enum Word : std::uint32_t { kAsks = 1, kHasBegun = 2 };

  bool on_arrived(std::uint32_t peer, std::uint32_t tag, std::span<const std::byte> bytes) override;
  Answer on_offer(std::uint32_t peer, std::uint32_t number, std::uint32_t tag, std::uint64_t bytes) override;
  void on_received(void* cookie) override { over(cookie); }
  void on_sent(void* cookie) override { over(cookie); }
  void on_note(std::uint32_t peer, std::uint32_t word, std::uint32_t number) override;
  void on_left(std::uint32_t peer) override;
  void on_failed(const Error& why) override;

  Messages& messages() const { return *groups_->everyone().messages(); }
  void over(void* cookie);
  void end_with(int peer, const Error& why);
  Error gone(int peer) const;
  Error cut_off() const;
  void answer_asks();

  const Ranks& ranks_;
  Matcher& matcher_;
  MessagesHere& here_;  ///< Its lock is taken behind the hosts' lock.
  const std::atomic<std::uint64_t>& numbers_;
  TeamGroups* groups_ = nullptr;
  std::vector<std::atomic<std::uint32_t>> begun_;  ///< The latest operation that each rank is known to have begun.
  std::vector<std::atomic<bool>> has_left_;
  std::atomic<bool> has_failed_{false};

  // Below it all is guarded by the hosts' lock.
  std::unordered_map<const void*, std::shared_ptr<Message>> under_way_;
  Matcher::Ended ended_;
  std::vector<std::optional<std::uint32_t>> asks_;  ///< The operation that each rank asks for.
  bool has_asks_ = false;
  std::optional<Error> failure_;
};

}  // namespace sumac::p2p
