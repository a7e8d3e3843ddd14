#include "machine/cma.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

namespace sumac::machine {
namespace {

/// Runs `body` in a child process and returns its result, because a seccomp filter cannot be removed.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

/// Makes a system call fail with `error`, as a container's seccomp profile does.
bool forbid(unsigned call, int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof filter / sizeof *filter, filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Cma, a_process_reads_itself_or_says_why_not) {
  std::uint64_t word = 0x53756d6163;
  const auto answer = probe_cma(::getpid(), &word, word);
  if (answer == Cma::denied || answer == Cma::unsupported) GTEST_SKIP() << why(answer);
  EXPECT_EQ(answer, Cma::works) << why(answer);
  EXPECT_EQ(probe_cma(::getpid(), &word, word + 1), Cma::mistaken) << "another word there";
  EXPECT_EQ(probe_cma(::getpid(), nullptr, word), Cma::mistaken) << "no such address";
}

TEST(Cma, a_container_that_forbids_it_is_told_apart) {
  std::uint64_t word = 42;
  const struct {
    unsigned call;
    int error;
    Cma answer;
  } rows[] = {{SYS_process_vm_readv, EPERM, Cma::denied},
              {SYS_process_vm_readv, EACCES, Cma::denied},
              {SYS_process_vm_readv, ENOSYS, Cma::unsupported},
              {SYS_process_vm_writev, EPERM, Cma::denied}};
  for (const auto& row : rows) {
    const int got = in_child([&] {
      if (!forbid(row.call, row.error)) return 99;
      return static_cast<int>(probe_cma(::getppid(), &word, word));
    });
    if (got == 99) GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(got, static_cast<int>(row.answer)) << row.error;
  }
}

TEST(Cma, a_process_that_is_gone) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  std::uint64_t word = 42;
  const auto answer = probe_cma(child, &word, word);
  if (answer == Cma::denied || answer == Cma::unsupported) GTEST_SKIP() << why(answer);
  EXPECT_EQ(answer, Cma::gone) << why(answer);
}

TEST(Cma, every_answer_has_words) {
  for (const auto answer : {Cma::works, Cma::denied, Cma::unsupported, Cma::gone, Cma::mistaken})
    EXPECT_NE(std::string(why(answer)), "?");
  allow_cma();
}

}  // namespace
}  // namespace sumac::machine
