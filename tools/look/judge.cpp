#include "tools/look/judge.hpp"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "base/listed.hpp"
#include "coll/collective.hpp"

namespace sumac::tools::look {
namespace {

using recorder::Operation;
using recorder::TrackView;

constexpr std::size_t kOperationsShown = 4;

bool is_stopped(const Rank& rank) { return rank.process.state == 'T' || rank.process.state == 't'; }

/// The clock was not read for an operation in a tight loop: it began somewhat later than `ns`.
std::string ago(std::int64_t ns, bool is_exact) { return (is_exact ? "" : "at most ") + time_text(ns); }

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKib = 1024, kMib = kKib * kKib;
  if (bytes >= kMib && bytes % kMib == 0) return fmt::format("{} MiB", bytes / kMib);
  if (bytes >= kKib && bytes % kKib == 0) return fmt::format("{} KiB", bytes / kKib);
  return fmt::format("{} B", bytes);
}

std::string operation_text(const Operation& operation) {
  const auto coll = operation.what & 0xff;
  std::string text(coll < coll::kCollectives.size() ? coll::kCollectives[coll].name : "?");
  if (operation.bytes > 0) text += ' ' + bytes_text(operation.bytes);
  if ((operation.what & recorder::kPosted) != 0) text += ", nonblocking";
  if ((operation.what & recorder::kPassed) != 0) text += ", done by the MPI";
  return text;
}

std::string name_text(const std::string& name) { return name.empty() ? "a communicator without a name" : name; }

std::string state_text(const Rank& rank) {
  switch (rank.process.state) {
    case 'R': return "running";
    case 'S': return "asleep";
    case 'D': return "waiting for a disk or device";
    case 'T':
    case 't': return "stopped";
    case 'Z': return "dead";
    default: return "in an unknown state";
  }
}

/// "rank 1", and its number in the job where that is another one.
std::string rank_text(const Member& member) {
  const int world = member.rank->process.page.world_rank;
  return world == member.track->rank || world < 0
             ? fmt::format("rank {}", member.track->rank)
             : fmt::format("rank {} (rank {} of the job)", member.track->rank, world);
}

const std::string& host_of(const Rank& rank, const Now& now) { return rank.host.empty() ? now.host : rank.host; }

/// "h1 and h2"; many hosts are counted.
std::string hosts_text(const Job& job, const Now& now) {
  constexpr std::size_t kHostsShown = 4;
  std::vector<std::string> hosts;
  for (const Rank& rank : job.ranks)
    if (const auto& host = host_of(rank, now); std::find(hosts.begin(), hosts.end(), host) == hosts.end())
      hosts.push_back(host);
  return hosts.size() > kHostsShown ? fmt::format("{} hosts", hosts.size()) : listed(hosts, " and ");
}

std::vector<int> numbers_of(const std::vector<Member>& members) {
  std::vector<int> numbers;
  for (const Member& member : members) numbers.push_back(member.track->rank);
  return numbers;
}

Finding judge(const std::vector<Member>& members) {
  const auto newest = [](const Member& a, const Member& b) { return a.track->begun < b.track->begun; };
  const TrackView& first = *std::max_element(members.begin(), members.end(), newest)->track;
  Finding found{.communicator = first.name, .size = first.size};
  if (first.newest.empty()) return found;
  found.operation = first.newest.front();
  std::set<int> seen, missing;
  for (const Member& member : members) {
    const TrackView& track = *member.track;
    seen.insert(track.rank);
    const auto at = static_cast<std::size_t>(&track - member.rank->process.page.tracks.data());
    found.moves = found.moves || (at < member.rank->before.size() && member.rank->before[at] != track.begun);
    if (track.begun < first.begun) {
      found.late.push_back(member);
    } else if (track.is_inside()) {
      found.inside.push_back(member);
      if (is_stopped(*member.rank)) found.stopped.push_back(member);
      missing.insert(track.missing.begin(), track.missing.end());
      if (found.inside.size() == 1 || track.since_ns < found.since_ns) {
        found.since_ns = track.since_ns;
        found.is_exact = track.is_exact;
      }
    }
  }
  std::set_difference(missing.begin(), missing.end(), seen.begin(), seen.end(), std::back_inserter(found.missing));
  found.unseen = found.size - static_cast<int>(seen.size());
  return found;
}

/// Returns the operation in which this rank waits, in words; "" if it is in none.
std::string inside_text(const Rank& rank, const TrackView* other_than) {
  for (const TrackView& track : rank.process.page.tracks)
    if (track.is_inside() && &track != other_than && !track.newest.empty())
      return fmt::format("{} of {}", operation_text(track.newest.front()), name_text(track.name));
  return "";
}

std::string late_text(const Member& member, const Now& now) {
  const TrackView& track = *member.track;
  std::string text = fmt::format("  {} on {} (pid {}, {}) has not begun it", rank_text(member),
                                 host_of(*member.rank, now), member.rank->process.pid, state_text(*member.rank));
  if (track.newest.empty())
    text += "; it has begun none there";
  else
    text += fmt::format("; its last there: {} (number {}), {} ago", operation_text(track.newest.front()),
                        track.newest.front().number, ago(now.monotonic_ns - track.since_ns, track.is_exact));
  const auto elsewhere = inside_text(*member.rank, &track);
  return text + (elsewhere.empty() ? "\n" : fmt::format("; it waits itself, in {}\n", elsewhere));
}

std::string finding_text(const Finding& found, const Now& now) {
  const auto waits = ago(now.monotonic_ns - found.since_ns, found.is_exact);
  std::string text = fmt::format("{}, {} ranks: {} (number {}): ", name_text(found.communicator), found.size,
                                 operation_text(found.operation), found.operation.number);
  if (found.moves) return text + "goes on\n";
  if (found.inside.empty()) return text + "no rank here is in it\n";
  text += fmt::format("{} in it for {}\n", ranks_text(numbers_of(found.inside)), waits);
  for (const Member& member : found.late) text += late_text(member, now);
  for (const Member& member : found.stopped)
    text += fmt::format("  {} on {} (pid {}) is stopped (kill -CONT {} lets it go on)\n", rank_text(member),
                        host_of(*member.rank, now), member.rank->process.pid, member.rank->process.pid);
  if (!found.missing.empty())
    text += fmt::format("  {} on other hosts, not begun as the ranks here have heard\n", ranks_text(found.missing));
  if (found.unseen > 0)
    text += fmt::format(
        "  of {} of its ranks nothing is known: they are dead, or on hosts where the same number tells more\n",
        found.unseen);
  else if (!found.names_somebody())
    text += "  all its ranks have begun it\n";
  return text;
}

/// One clause for `sumac ps`.
std::string summary_of(const Job& job, const Now& now) {
  const auto findings = findings_of(job);
  for (const Finding& found : findings) {
    if (!found.names_somebody() || found.inside.empty()) continue;
    std::vector<int> who = found.missing;
    for (const auto* members : {&found.late, &found.stopped})
      for (const int number : numbers_of(*members)) who.push_back(number);
    return fmt::format("{} of {} waits for {}, {}", operation_text(found.operation), name_text(found.communicator),
                       ranks_text(who), ago(now.monotonic_ns - found.since_ns, found.is_exact));
  }
  for (const Finding& found : findings)
    if (found.moves) return fmt::format("collectives of {} go on", name_text(found.communicator));
  for (const Finding& found : findings)
    if (!found.inside.empty())
      return fmt::format("in {} of {}, {}", operation_text(found.operation), name_text(found.communicator),
                         ago(now.monotonic_ns - found.since_ns, found.is_exact));
  return "no rank here is in a collective";
}

std::string operations_of(const TrackView& track, const Now& now) {
  std::string text;
  const std::uint64_t open = track.begun - track.ended;
  for (std::size_t i = 0; i < std::min(kOperationsShown, track.newest.size()); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : "; ", track.newest[i].number, operation_text(track.newest[i]));
    if (i == 0) text += fmt::format(", {} ago", ago(now.monotonic_ns - track.since_ns, track.is_exact));
    if (i < open) text += ", under way";
  }
  return text;
}

/// With SUMAC_RECOVERY=1: whether its communicators have lost trees.
std::string ways_text(const recorder::PageView& page) {
  if (page.on_tree + page.among_members == 0) return "";
  return fmt::format("; operations on a tree: {}, among the members without one: {}", page.on_tree, page.among_members);
}

}  // namespace

std::vector<std::uint64_t> begun_before(const recorder::PageView& before, const recorder::PageView& now) {
  std::vector<std::uint64_t> all;
  for (const TrackView& track : now.tracks) {
    const auto same = std::find_if(before.tracks.begin(), before.tracks.end(),
                                   [&](const TrackView& one) { return one.id == track.id; });
    all.push_back(same == before.tracks.end() ? 0 : same->begun);
  }
  return all;
}

std::string time_text(std::int64_t ns) {
  const double s = static_cast<double>(std::max<std::int64_t>(ns, 0)) / 1e9;
  if (s < 1) return fmt::format("{:.0f} ms", s * 1e3);
  if (s < 120) return fmt::format("{:.1f} s", s);
  return s < 7200 ? fmt::format("{:.0f} min", s / 60) : fmt::format("{:.1f} h", s / 3600);
}

std::string user_name(unsigned uid) {
  const passwd* found = ::getpwuid(uid);
  return found != nullptr ? found->pw_name : std::to_string(uid);
}

std::string last_text(const recorder::PageView& page, std::int64_t died_ns) {
  const TrackView* last = nullptr;
  for (const TrackView& track : page.tracks)
    if (!track.newest.empty() && (last == nullptr || std::pair(track.is_inside(), track.since_ns) >
                                                         std::pair(last->is_inside(), last->since_ns)))
      last = &track;
  if (last == nullptr) return "";
  return fmt::format("it {} {} (number {}) of {}, begun {} before", last->is_inside() ? "was in" : "had ended",
                     operation_text(last->newest.front()), last->newest.front().number, name_text(last->name),
                     ago(died_ns - last->since_ns, last->is_exact));
}

std::string ranks_text(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
    if (end - i > 1) text += fmt::format("-{}", ranks[end - 1]);
    i = end;
  }
  return text;
}

std::vector<Job> jobs_of(std::vector<Rank> ranks) {
  std::map<std::tuple<unsigned, std::uint64_t, int>, Job> jobs;
  for (Rank& rank : ranks) {
    const auto& page = rank.process.page;
    Job& job = jobs[{rank.process.uid, page.job, page.job == 0 ? rank.process.pid : 0}];
    job.id = page.job;
    job.uid = rank.process.uid;
    job.size = std::max(job.size, page.world_size);
    job.ranks.push_back(std::move(rank));
  }
  std::vector<Job> all;
  for (auto& [key, job] : jobs) {
    std::stable_sort(job.ranks.begin(), job.ranks.end(), [](const Rank& a, const Rank& b) {
      return a.process.page.world_rank < b.process.page.world_rank;
    });
    all.push_back(std::move(job));
  }
  std::stable_sort(all.begin(), all.end(), [](const Job& a, const Job& b) {
    return a.ranks.front().process.page.since_ns < b.ranks.front().process.page.since_ns;
  });
  return all;
}

std::vector<Finding> findings_of(const Job& job) {
  std::map<std::uint64_t, std::vector<Member>> communicators;
  for (const Rank& rank : job.ranks)
    for (const TrackView& track : rank.process.page.tracks) communicators[track.id].push_back({&rank, &track});
  std::vector<Finding> all;
  for (const auto& [id, members] : communicators)
    if (auto found = judge(members); found.operation.number > 0) all.push_back(std::move(found));
  std::stable_sort(all.begin(), all.end(), [](const Finding& a, const Finding& b) {
    const auto key = [](const Finding& f) {
      return std::tuple(!(f.names_somebody() && !f.inside.empty()), f.inside.empty(), f.since_ns);
    };
    return key(a) < key(b);
  });
  return all;
}

std::string ps_text(const std::vector<Job>& jobs, const Now& now) {
  std::string text = fmt::format("{:<20} {:<10} {:<16} {:<12} {:<12} {:>8}  {}\n", "JOB", "USER", "PROGRAM", "HOST",
                                 "RANKS", "SINCE", "DOES");
  for (const Job& job : jobs) {
    const auto& first = job.ranks.front().process;
    std::vector<int> here;
    for (const Rank& rank : job.ranks) here.push_back(rank.process.page.world_rank);
    const auto ranks = ranks_text(here);
    text += fmt::format("{:<20} {:<10} {:<16} {:<12} {:<12} {:>8}  {}\n", job.id, user_name(job.uid), first.program,
                        now.host, fmt::format("{} of {}", ranks.substr(ranks.find(' ') + 1), job.size),
                        time_text(now.realtime_ns - first.page.since_ns), summary_of(job, now));
  }
  return text;
}

std::string explain_text(const Job& job, const Now& now) {
  if (job.ranks.empty()) {  // All are dead.
    auto text = fmt::format("job {}: no rank of it is left here\n", job.id);
    for (const auto& note : job.notes) text += note + '\n';
    return text;
  }
  const auto& first = job.ranks.front().process;
  std::string text =
      fmt::format("job {} of {}: {}, {} of {} ranks on {}, since {}\n", job.id, user_name(job.uid), first.program,
                  job.ranks.size(), job.size, hosts_text(job, now), time_text(now.realtime_ns - first.page.since_ns));
  for (const auto& note : job.notes) text += note + '\n';
  const auto findings = findings_of(job);
  bool says_something = false;
  for (const Finding& found : findings) {
    if (found.inside.empty() && !found.moves) continue;
    text += '\n' + finding_text(found, now);
    says_something = true;
  }
  if (!says_something) text += "\nno rank here is in a collective\n";
  text += '\n';
  for (const Rank& rank : job.ranks) {
    const auto& page = rank.process.page;
    text += fmt::format("rank {} on {}, pid {}, {}{}\n", page.world_rank, host_of(rank, now), rank.process.pid,
                        state_text(rank), ways_text(page));
    for (const TrackView& track : page.tracks)
      if (!track.newest.empty()) text += fmt::format("  {}: {}\n", name_text(track.name), operations_of(track, now));
    if (page.unlisted > 0) text += fmt::format("  {} more communicators had no room in its page\n", page.unlisted);
  }
  return text;
}

}  // namespace sumac::tools::look
