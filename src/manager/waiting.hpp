#pragma once
// The begins that wait, in the order in which they are tried again. A begin with a limit of its own (SUMAC_QUEUE_SECONDS) waits for room:
// users take turns, the one that was granted a job longest ago first, and the jobs of one user keep their order. A job that
// needs much can be overtaken by jobs of other users that need less, at most until its limit.
#include <cstdint>
#include <map>
#include <vector>

#include "manager/facts.hpp"
#include "manager/step.hpp"

namespace sumac::manager {

/// A begin that has just come. It may wait for room at least as long as members of ended jobs need to leave.
HeldBegin fresh(StreamId stream, const JobBegin& begin, Time now, const Rules& rules);

class Waiting {
 public:
  /// The most waiting jobs of one user.
  static constexpr std::size_t kOfUserMax = 4096;

  void add(HeldBegin held);
  /// Adds a begin that cannot be admitted now for the reason `why`, or returns why it is refused. `leaving` describes ended jobs
  /// whose members have not left; empty: none.
  std::string hold(Step& step, const HeldBegin& held, const Error& why, const std::string& leaving);
  /// Forgets what came over a stream: its sharpd asks again when it is back.
  void stream_ended(StreamId stream);
  void job_ended(StreamId stream, std::uint64_t ticket);
  /// A job of the user was granted: the turn of the others comes first.
  void granted(std::uint32_t uid);

  /// The jobs of the user that wait for their turn.
  std::size_t of_user(std::uint32_t uid) const;
  bool empty() const noexcept { return held_.empty(); }
  const std::vector<HeldBegin>& all() const noexcept { return held_; }
  /// Returns all of them, in order of their turns. Those that still have to wait are added again.
  std::vector<HeldBegin> take();

 private:
  std::vector<HeldBegin> held_;
  std::map<std::uint32_t, std::size_t> of_user_;
  /// [uid]: the number of the last grant, counted while somebody waits. The user with the least is next.
  std::map<std::uint32_t, std::uint64_t> served_;
  std::uint64_t grants_ = 0;
};

}  // namespace sumac::manager
