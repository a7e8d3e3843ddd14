#include "shm/cma.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "shm/operation.hpp"

namespace sumac::shm {

namespace {

struct Word {
  std::uint64_t* address;
  std::uint64_t value;
};

Errc gather(Group& group, const void* mine, void* all, std::size_t bytes) {
  const Call call{.coll = Coll::allgather, .in = mine, .out = all, .bytes = bytes};
  return run(group, call);
}

/// What a member says of itself.
struct Answer {
  bool agrees;
  machine::Cma why;    ///< Else, unless it is
  std::int16_t other;  ///< -1: it does not want to.
};

Answer try_all(const Group& group, const std::vector<Word>& words) {
  for (int m = 0; m < group.size(); ++m) {
    if (m == group.index()) continue;
    const Word& word = words[static_cast<std::size_t>(m)];
    const auto pid = static_cast<pid_t>(group.process(m).pid);
    const machine::Cma answer = machine::probe_cma(pid, word.address, word.value);
    if (answer != machine::Cma::works) return {false, answer, static_cast<std::int16_t>(m)};
  }
  return {true, machine::Cma::works, -1};
}

/// What this process, as the first member of pairs, has found out of others: a program may make thousands of communicators of
/// the same two ranks.
class KnownLines {
 public:
  double find(const ProcessName& other) {
    const std::lock_guard guard(lock_);
    for (const auto& [process, line_ns] : lines_)
      if (process.pid == other.pid && process.start_time == other.start_time) return line_ns;
    return 0;
  }
  void add(const ProcessName& other, double line_ns) {
    const std::lock_guard guard(lock_);
    lines_.emplace_back(other, line_ns);
  }

 private:
  std::mutex lock_;
  std::vector<std::pair<ProcessName, double>> lines_;
};

/// The same number at both, 0: they had to share a core, or one stood still for long.
Errc time_line(Group& group, double& line_ns) {
  constexpr int kBatches = 8, kTrips = 16, kHopsUnseen = 8;
  constexpr Duration kPatience = Millis(2);
  constexpr double kBelievable = 2000;  // more, and they had to share a core
  double word = 0;
  std::array<double, kBatches> each;
  each.fill(kBelievable);
  // Who comes later than the other is waited for first: that says nothing of the line.
  if (const Errc code = run(group, {.coll = Coll::barrier}); code != Errc::ok) return code;
  Call call{.coll = Coll::bcast, .out = &word, .bytes = sizeof word};
  const Time start = monotonic_now();
  for (int batch = 0; batch < kBatches; ++batch) {
    const Time begin = monotonic_now();
    for (int hop = 0; hop < 2 * kTrips; ++hop) {
      // The first member's word goes for both. It looks at the clock not only before a batch, for beside others who keep the cores
      // busy each hop may take milliseconds, nor at each trip, a tenth of which that takes.
      if (hop % kHopsUnseen == 0) word = monotonic_now() - start < kPatience ? 1 : 0;
      call.root = hop % 2;
      if (const Errc code = run(group, call); code != Errc::ok) return code;
      if (word == 0) break;
    }
    if (word == 0) break;
    each[static_cast<std::size_t>(batch)] = static_cast<double>((monotonic_now() - begin).count()) / kTrips;
  }
  // The median: neither a batch in which one of them did not run, nor one that was lucky.
  std::nth_element(each.begin(), each.begin() + kBatches / 2, each.end());
  word = each[kBatches / 2] < kBelievable ? each[kBatches / 2] : 0;
  call.root = 0;
  const Errc code = run(group, call);
  if (code == Errc::ok) line_ns = word;
  return code;
}

}  // namespace

Errc agree_on_single_copy(Group& group, bool wanted, CopyRefusal* refusal) {
  group.turning.single_copy = false;
  if (wanted) machine::allow_cma();
  const auto n = static_cast<std::size_t>(group.size());
  // What nobody else has at this address: another process of the same program has other values there.
  const ProcessName& self = group.process(group.index());
  std::uint64_t secret = static_cast<std::uint64_t>(self.pid) << 32 ^ self.start_time ^ 0x73756d6163;
  const Word mine{&secret, secret};
  std::vector<Word> words(n);
  if (const Errc code = gather(group, &mine, words.data(), sizeof mine); code != Errc::ok) return code;
  const Answer own = wanted ? try_all(group, words) : Answer{false, machine::Cma::works, -1};
  std::vector<Answer> answers(n);
  // Having everybody's answer, everybody is through with our word.
  if (const Errc code = gather(group, &own, answers.data(), sizeof own); code != Errc::ok) return code;
  const auto first = std::find_if(answers.begin(), answers.end(), [](const Answer& answer) { return !answer.agrees; });
  group.turning.single_copy = first == answers.end();
  if (refusal != nullptr)
    *refusal = first == answers.end()
                   ? CopyRefusal{}
                   : CopyRefusal{static_cast<int>(first - answers.begin()), first->other, first->why};
  return Errc::ok;
}

Errc measure_line(Group& group, double& line_ns) {
  line_ns = 0;
  if (group.size() != 2 || group.waiting().crowded()) return Errc::ok;
  // The first member's number goes for both.
  static KnownLines known;
  double told = known.find(group.process(1));
  if (const Errc code = run(group, {.coll = Coll::bcast, .out = &told, .bytes = sizeof told}); code != Errc::ok)
    return code;
  if (told == 0) {
    if (const Errc code = time_line(group, told); code != Errc::ok) return code;
    if (group.index() == 0 && told != 0) known.add(group.process(1), told);
  }
  line_ns = told;
  return Errc::ok;
}

}  // namespace sumac::shm
