#include "shm/single/cma.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "shm/single/timed.hpp"
#include "shm/task.hpp"

namespace sumac::shm {

namespace {

struct Word {
  std::uint64_t* address;
  std::uint64_t value;
};

Errc gather(Group& group, const void* mine, void* all, std::size_t bytes) {
  const coll::Operation operation{.kind = coll::Kind::allgather, .in = mine, .out = all, .bytes = bytes};
  return run(group, operation);
}

/// A member's own answer.
struct Answer {
  bool agrees;
  machine::Cma why;        ///< The reason if it does not agree although it wants to.
  std::int16_t other;      ///< The member it failed with; -1: it does not want to.
  Decisions::Known known;  ///< In a pair: what this process knows of large messages with the other one.
};

Answer try_all(const Group& group, const std::vector<Word>& words) {
  for (int m = 0; m < group.size(); ++m) {
    if (m == group.index()) continue;
    const Word& word = words[static_cast<std::size_t>(m)];
    const auto pid = static_cast<pid_t>(group.process(m).pid);
    const machine::Cma answer = machine::probe_cma(pid, word.address, word.value);
    if (answer != machine::Cma::works) return {false, answer, static_cast<std::int16_t>(m), {}};
  }
  return {true, machine::Cma::works, -1, {}};
}

}  // namespace

Errc agree_on_single_copy(Group& group, bool wanted, CopyRefusal* refusal) {
  group.turning.single_copy = false;
  if (wanted) machine::allow_cma();
  const auto n = static_cast<std::size_t>(group.size());
  // A value that no other process has at this address, even if it runs the same program.
  const ProcessName& self = group.process(group.index());
  std::uint64_t secret = static_cast<std::uint64_t>(self.pid) << 32 ^ self.start_time ^ 0x73756d6163;
  const Word mine{&secret, secret};
  std::vector<Word> words(n);
  if (const Errc code = gather(group, &mine, words.data(), sizeof mine); code != Errc::ok) return code;
  Answer own = wanted ? try_all(group, words) : Answer{false, machine::Cma::works, -1, {}};
  if (n == 2 && group.index() == 0) own.known = known_of(group.process(1));
  std::vector<Answer> answers(n);
  // After this member has every answer, no member reads its word any more.
  if (const Errc code = gather(group, &own, answers.data(), sizeof own); code != Errc::ok) return code;
  const auto first = std::find_if(answers.begin(), answers.end(), [](const Answer& answer) { return !answer.agrees; });
  group.turning.single_copy = first == answers.end();
  group.decisions.reset();
  if (n == 2 && group.turning.single_copy) {
    group.decisions = std::make_unique<Decisions>();
    group.decisions->settle(answers[0].known);  // The first member's knowledge counts for both.
  }
  if (refusal != nullptr)
    *refusal = first == answers.end()
                   ? CopyRefusal{}
                   : CopyRefusal{static_cast<int>(first - answers.begin()), first->other, first->why};
  return Errc::ok;
}

}  // namespace sumac::shm
