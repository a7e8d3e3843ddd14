// A rank is killed in the middle of a collective. All ranks repeat one collective; the victim gets SIGKILL from a
// timer, at an arbitrary instruction. Every other rank must get an error from MPI within seconds: it prints that and
// ends, without MPI_Finalize, which cannot end in order with a rank missing. Every result before that is checked.
//
//   mpirun --enable-recovery -n 4 death COLLECTIVE BYTES blocking|nonblocking|persistent VICTIM MICROSECONDS
#include <fmt/core.h>
#include <mpi.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "tests/host/plain.hpp"

namespace {

using sumac::tests::Coll;
using sumac::tests::Form;
using sumac::tests::Plain;

void die(int) { ::kill(::getpid(), SIGKILL); }

void die_after(int micros) {
  const itimerval timer{{0, 0}, {0, micros}};
  ::signal(SIGALRM, die);
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

template <class T>
std::optional<T> named(std::string_view name, int count) {
  for (int i = 0; i < count; ++i)
    if (to_string(static_cast<T>(i)) == name) return static_cast<T>(i);
  return std::nullopt;
}

/// Repeats the collective until it fails; returns the exit status.
int repeat(Plain& plain, Form form, int rank) {
  double last = MPI_Wtime();
  const double until = last + 60;
  int rc = MPI_SUCCESS;
  for (unsigned call = 1; rc == MPI_SUCCESS && last < until; ++call) {
    plain.fill(call);
    last = MPI_Wtime();
    rc = plain.run(form);
    if (rc != MPI_SUCCESS) break;
    if (const auto wrong = plain.check(call); !wrong.empty()) {
      fmt::print(stderr, "death: WRONG at {}\n", wrong);
      return 3;
    }
  }
  char words[MPI_MAX_ERROR_STRING] = "no error";
  int length = 0;
  if (rc != MPI_SUCCESS) MPI_Error_string(rc, words, &length);
  const double heard_after = MPI_Wtime() - last;
  const int again = rc != MPI_SUCCESS ? plain.run(form) : MPI_SUCCESS;
  fmt::print("death: rank {} heard after {:.3f} s: {}; then {}\n", rank, heard_after, words,
             again == MPI_SUCCESS ? "a call succeeded" : "every call fails");
  return rc == MPI_SUCCESS ? 4 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const auto coll = argc == 6 ? named<Coll>(argv[1], sumac::tests::kColls) : std::nullopt;
  const auto form = argc == 6 ? named<Form>(argv[3], 3) : std::nullopt;
  if (!coll || !form) {
    fmt::print(stderr, "usage: death COLLECTIVE BYTES blocking|nonblocking|persistent VICTIM MICROSECONDS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  Plain plain(*coll, static_cast<std::size_t>(std::atol(argv[2])), MPI_COMM_WORLD);
  // The first blocking call makes the team, and the first one of another form may make a lane, where the MPI alone exchanges, which
  // does not notice a death. Behind the last barrier every rank has left both.
  MPI_Barrier(MPI_COMM_WORLD);
  plain.fill(0);
  if (const int rc = plain.run(*form); rc != MPI_SUCCESS || !plain.check(0).empty()) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int call = 0; call < 2; ++call) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == std::atoi(argv[4])) die_after(std::atoi(argv[5]));
  const int status = repeat(plain, *form, rank);
  std::fflush(stdout);
  // Bcast and reduce let ranks run ahead: no rank may end before all had the time to notice the death by themselves.
  ::_exit(status);
}
