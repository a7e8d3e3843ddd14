#include "shm/cma.hpp"

#include <algorithm>
#include <vector>

#include "machine/cma.hpp"
#include "shm/operation.hpp"

namespace sumac::shm {

namespace {

struct Word {
  const std::uint64_t* address;
  std::uint64_t value;
};

Errc gather(Group& group, const void* mine, void* all, std::size_t bytes) {
  const Call call{.coll = Coll::allgather, .in = mine, .out = all, .bytes = bytes};
  return run(group, call);
}

bool may_read_all(const Group& group, const std::vector<Word>& words) {
  for (int m = 0; m < group.size(); ++m) {
    if (m == group.index()) continue;
    const Word& word = words[static_cast<std::size_t>(m)];
    const auto pid = static_cast<pid_t>(group.process(m).pid);
    if (machine::probe_cma(pid, word.address, word.value) != machine::Cma::works) return false;
  }
  return true;
}

}  // namespace

Errc agree_on_single_copy(Group& group, bool wanted) {
  group.turning.single_copy = false;
  if (wanted) machine::allow_cma();
  const auto n = static_cast<std::size_t>(group.size());
  // What nobody else has at this address: another process of the same program has other values there.
  const ProcessName& self = group.process(group.index());
  const std::uint64_t secret = static_cast<std::uint64_t>(self.pid) << 32 ^ self.start_time ^ 0x73756d6163;
  const Word mine{&secret, secret};
  std::vector<Word> words(n);
  if (const Errc code = gather(group, &mine, words.data(), sizeof mine); code != Errc::ok) return code;
  const char yes = wanted && may_read_all(group, words) ? 1 : 0;
  std::vector<char> answers(n);
  // Having everybody's answer, everybody has also read our word.
  if (const Errc code = gather(group, &yes, answers.data(), 1); code != Errc::ok) return code;
  group.turning.single_copy = std::count(answers.begin(), answers.end(), 1) == group.size();
  return Errc::ok;
}

}  // namespace sumac::shm
