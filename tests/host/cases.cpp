// A randomised differential test of MPI's collectives: each case draws collective, type, operation, size, root, form
// and communicator from a seed, and compares every byte with the one computed from the seed alone. It knows nothing of
// Sumac: run it with the component on and off.
//
//   mpirun -n 4 host-cases --seed 1 --cases 1500     many cases; a failing one prints its own seed
//   mpirun -n 4 host-cases --case 0x1234             that one alone; --verbose: each case before it runs; --tame:
//                                                  without mistakes of Open MPI's own collectives; --not-alone:
//                                                  none on communicators of one rank; --not-persistent: none
//                                                  with a persistent collective; --from 12:
//                                                  the first 12 of the cases are left out; --patience 20: a case
//                                                  hangs after so many seconds; --only alltoall,bcast: these
//                                                  collectives and no others
#include <fmt/core.h>
#include <mpi.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/host/communicators.hpp"
#include "tests/host/exercise.hpp"

namespace sumac::tests {
namespace {

char now_running[1024] = "host-cases: hangs before its first case\n";

void tell_what_hangs(int) {
  (void)!::write(STDERR_FILENO, now_running, std::strlen(now_running));
  ::_exit(3);
}

struct World {
  int rank = 0, size = 0;
  std::uint64_t number = 0;  ///< The case that runs, counted from 0.
};

std::string name_of(const Scenario& scenario, const World& world) {
  std::string text = fmt::format("case {:#x} (number {}) on {} ({} ranks in all{}):", scenario.seed, world.number,
                                 to_string(scenario.where), world.size, scenario.is_skewed ? ", skewed" : "");
  for (const auto& step : scenario.steps) text += fmt::format(" [{}]", describe(step));
  return text;
}

[[noreturn]] void give_up(const Scenario& scenario, const World& world, const std::string& what) {
  fmt::print(stderr,
             "host-cases: rank {}: {}\n  {}\n  rerun: --case {:#x} on {} ranks, or the whole run with its --seed\n",
             world.rank, what, name_of(scenario, world), scenario.seed, world.size);
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  ::_exit(1);
}

/// Delays this rank by some microseconds or milliseconds, asleep or busy, by its own draw.
void be_late(const Scenario& scenario, int rank, std::uint64_t step) {
  if (!scenario.is_skewed) return;
  const std::uint64_t drawn = mix(scenario.seed, 31, static_cast<std::uint64_t>(rank), step);
  const long micros = static_cast<long>(drawn >> 8 & 0x3ff);
  if (drawn % 3 == 1) {
    const double until = MPI_Wtime() + static_cast<double>(micros) * 2e-7;
    while (MPI_Wtime() < until) {
    }
  } else if (drawn % 3 == 2) {
    const timespec pause{0, micros * 3000};
    ::nanosleep(&pause, nullptr);
  }
}

class Run {
 public:
  Run(const Scenario& scenario, const World& world, MPI_Comm comm) : scenario_(scenario), world_(world) {
    for (const auto& step : scenario.steps) exercises_.push_back(std::make_unique<Exercise>(step, comm));
    requests_.resize(exercises_.size(), MPI_REQUEST_NULL);
  }

  void all() {
    int starts = 1;
    for (std::size_t i = 0; i < exercises_.size(); ++i) {
      auto& exercise = *exercises_[i];
      exercise.fill(0);
      be_late(scenario_, world_.rank, i);
      succeed(exercise.post(&requests_[i]), i);
      if (exercise.step().form == Form::blocking) check(i);
      if (exercise.step().form == Form::persistent) {
        starts = std::max(starts, exercise.step().starts);
        succeed(MPI_Start(&requests_[i]), i);
      }
    }
    complete();
    for (int start = 1; start < starts; ++start) start_again(start);
    for (std::size_t i = 0; i < exercises_.size(); ++i)
      if (exercises_[i]->step().form == Form::persistent) MPI_Request_free(&requests_[i]);
    for (std::size_t i = 0; i < exercises_.size(); ++i)
      if (const auto wrong = exercises_[i]->compare_ranks()) fail(i, *wrong);
  }

 private:
  void start_again(int start) {
    for (std::size_t i = 0; i < exercises_.size(); ++i) {
      if (exercises_[i]->step().starts <= start) continue;
      exercises_[i]->fill(start);
      be_late(scenario_, world_.rank, i + 100 * static_cast<std::size_t>(start));
      succeed(MPI_Start(&requests_[i]), i);
      pending_again_.push_back(i);
    }
    complete();
  }

  /// Waits for the pending operations in an order that this rank draws for itself; some are tested several times
  /// before.
  void complete() {
    std::vector<std::size_t> pending = std::move(pending_again_);
    pending_again_.clear();
    if (pending.empty())
      for (std::size_t i = 0; i < exercises_.size(); ++i)
        if (exercises_[i]->step().form != Form::blocking) pending.push_back(i);
    Random random{mix(scenario_.seed, 32, static_cast<std::uint64_t>(world_.rank))};
    while (!pending.empty()) {
      const std::size_t at = random.below(pending.size()), i = pending[at];
      int done = 0;
      for (std::uint64_t asks = random.below(4); asks > 0 && done == 0; --asks)
        succeed(MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE), i);
      if (done == 0) succeed(MPI_Wait(&requests_[i], MPI_STATUS_IGNORE), i);
      check(i);
      pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  void succeed(int code, std::size_t i) const {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    fail(i, fmt::format("returned {}", text));
  }
  void check(std::size_t i) const {
    if (const auto wrong = exercises_[i]->check()) fail(i, *wrong);
  }
  void fail(std::size_t i, const std::string& what) const {
    give_up(
        scenario_, world_,
        fmt::format("collective {} of {}, {}: {}", i + 1, exercises_.size(), describe(exercises_[i]->step()), what));
  }

  const Scenario& scenario_;
  const World& world_;
  std::vector<std::unique_ptr<Exercise>> exercises_;
  std::vector<MPI_Request> requests_;
  std::vector<std::size_t> pending_again_;
};

struct Command {
  std::uint64_t seed = 1, cases = 1500, from = 0, patience_s = 120;
  std::optional<std::uint64_t> one;
  bool is_verbose = false, is_tame = false;
  /// MPICH 4.0.2 and Intel MPI 2021.18 give wrong results or hang on communicators of one rank, which Sumac leaves to
  /// the MPI.
  bool is_not_alone = false;
  /// MPICH 4.0.2 itself gives wrong results of persistent collectives between hosts, which Sumac leaves to the MPI.
  bool is_not_persistent = false;
  std::vector<Coll> only;
};

bool is_alone(MPI_Comm comm) {
  int size = 0;
  return comm != MPI_COMM_NULL && MPI_Comm_size(comm, &size) == MPI_SUCCESS && size == 1;
}

void run_case(std::uint64_t seed, const World& world, Communicators& communicators, const Command& command) {
  const Scenario scenario = draw_scenario(seed, world.size, command.is_tame, command.only);
  const std::string name = name_of(scenario, world);
  std::snprintf(now_running, sizeof now_running, "host-cases: rank %d hangs in %s\n", world.rank, name.c_str());
  ::alarm(static_cast<unsigned>(command.patience_s));
  if (command.is_verbose && world.rank == 0) {
    fmt::print("{}\n", name);
    std::fflush(stdout);
  }
  const MPI_Comm comm = communicators.get(scenario.where, seed);
  if (command.is_not_alone && is_alone(comm)) return;
  const auto is_persistent = [](const Step& step) { return step.form == Form::persistent; };
  if (command.is_not_persistent && std::ranges::any_of(scenario.steps, is_persistent)) return;
  if (comm != MPI_COMM_NULL) Run(scenario, world, comm).all();
}

std::optional<std::uint64_t> number(std::string_view text) {
  const bool is_hex = text.substr(0, 2) == "0x";
  if (is_hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Parses "alltoall,bcast"; returns an empty list if a name is not a collective.
std::vector<Coll> collectives(std::string_view list) {
  std::vector<Coll> found;
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    int c = 0;
    while (c < kColls && to_string(static_cast<Coll>(c)) != name) ++c;
    if (c == kColls) return {};
    found.push_back(static_cast<Coll>(c));
  }
  return found;
}

std::optional<Command> read_arguments(int argc, char** argv) {
  Command command;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--verbose") {
      command.is_verbose = true;
      continue;
    }
    if (word == "--tame") {
      command.is_tame = true;
      continue;
    }
    if (word == "--not-alone") {
      command.is_not_alone = true;
      continue;
    }
    if (word == "--not-persistent") {
      command.is_not_persistent = true;
      continue;
    }
    if (word == "--only") {
      if (i + 1 < argc) command.only = collectives(argv[++i]);
      if (command.only.empty()) return std::nullopt;
      continue;
    }
    const auto value = i + 1 < argc ? number(argv[++i]) : std::nullopt;
    if (!value) return std::nullopt;
    if (word == "--seed")
      command.seed = *value;
    else if (word == "--cases")
      command.cases = *value;
    else if (word == "--from")
      command.from = *value;
    else if (word == "--patience")
      command.patience_s = *value;
    else if (word == "--case")
      command.one = *value;
    else
      return std::nullopt;
  }
  return command;
}

}  // namespace
}  // namespace sumac::tests

int main(int argc, char** argv) {
  using namespace sumac::tests;
  MPI_Init(&argc, &argv);
  const auto command = read_arguments(argc, argv);
  if (!command) {
    fmt::print(stderr,
               "usage: host-cases [--seed N] [--cases N] [--case SEED] [--only COLLECTIVE,...] [--verbose] [--tame] "
               "[--not-alone] [--not-persistent] [--from N] [--patience SECONDS]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  ::signal(SIGALRM, tell_what_hangs);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  make_tables();
  const double begin = MPI_Wtime();
  {
    Communicators communicators;
    for (std::uint64_t i = command->one ? 0 : command->from; i < (command->one ? 1 : command->cases); ++i) {
      world.number = i;
      run_case(command->one ? *command->one : mix(command->seed, i), world, communicators, *command);
    }
  }
  free_tables();
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0)
    fmt::print("host-cases: {} cases on {} ranks right, seed {}, {:.1f} s\n", command->one ? 1 : command->cases,
               world.size, command->seed, MPI_Wtime() - begin);
  std::fflush(stdout);  // Some MPIs do not come out of MPI_Finalize.
  MPI_Finalize();
  return 0;
}
