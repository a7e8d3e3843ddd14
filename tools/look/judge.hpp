#pragma once
// The judgement on the pages of a host's processes: who waits for whom. It is pure.
#include <cstdint>
#include <string>
#include <vector>

#include "recorder/reader.hpp"

namespace sumac::tools::look {

struct Rank {
  recorder::Process process;
  std::vector<std::uint64_t>
      before;          ///< TrackView::begun of its communicators a moment before, as in process.page.tracks.
  std::string host{};  ///< Empty: this host.
};

/// The ranks of a job that are known, by world rank.
struct Job {
  std::uint64_t id = 0;
  unsigned uid = 0;
  int size = 0;
  std::vector<Rank> ranks;
  std::vector<std::string> notes{};  ///< Lines on dead ranks, on nodes that wait, and on hosts that do not answer.
};

/// A rank in a communicator.
struct Member {
  const Rank* rank;
  const recorder::TrackView* track;
};

/// An operation that some ranks are in.
struct Finding {
  std::string communicator;
  int size = 0;
  recorder::Operation operation;
  bool moves = false;           ///< The communicator went on between the two looks.
  std::vector<Member> inside;   ///< They wait in it.
  std::vector<Member> late;     ///< They have not begun it.
  std::vector<Member> stopped;  ///< They are in it, and their process is stopped.
  std::vector<int> missing;     ///< Ranks of other hosts that have not begun it, as a rank here has heard.
  int unseen = 0;               ///< Ranks of which nothing is known: dead, or on hosts that do not answer.
  std::int64_t since_ns = 0;    ///< The earliest begin, CLOCK_MONOTONIC.
  bool is_exact = false;

  bool names_somebody() const { return !moves && !(late.empty() && missing.empty() && stopped.empty()); }
};

/// Cuts the processes into jobs, the newest last.
std::vector<Job> jobs_of(std::vector<Rank> ranks);
/// Returns the operations that ranks of the job are in; those that name somebody come first, the longest wait first.
std::vector<Finding> findings_of(const Job& job);

struct Now {
  std::int64_t monotonic_ns = 0, realtime_ns = 0;
  std::string host;
};

/// Returns TrackView::begun of `before` for each track of `now`; 0 for a communicator that is new.
std::vector<std::uint64_t> begun_before(const recorder::PageView& before, const recorder::PageView& now);
std::string time_text(std::int64_t ns);
std::string user_name(unsigned uid);
/// "it was in allreduce 8 B (number 7) of x", or what it had ended last; "" if it had begun nothing. `died_ns` is of the clock of
/// the page.
std::string last_text(const recorder::PageView& page, std::int64_t died_ns);
/// "ranks 0-3 and 6"
std::string ranks_text(std::vector<int> ranks);
/// The table of `sumac ps`.
std::string ps_text(const std::vector<Job>& jobs, const Now& now);
/// The text of `sumac explain`.
std::string explain_text(const Job& job, const Now& now);

}  // namespace sumac::tools::look
