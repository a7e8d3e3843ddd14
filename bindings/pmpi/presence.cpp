// A rank without the library cannot be asked: it does not answer, and MPI has no other way to learn of it. So the ranks
// that have the library meet in one nonblocking allreduce in MPI_Init, which every rank leaves at about the same time.
// If it does not end, the ranks that are there find out who is missing, and end the job: to go on would let the missing
// rank's collectives wait for ever.
#include "bindings/pmpi/presence.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include "base/listed.hpp"
#include "bindings/pmpi/library.hpp"

namespace sumac::pmpi {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kAnswerWithin{6}, kNamesWithin{1};
constexpr std::uint64_t kMagic = 0x53554d4143504d50;  // "SUMACPMP"
constexpr int kTag = 0x5355;
/// Each of so many ranks sends to all of them when one is missing.
constexpr int kNamedRanksMax = 4096;

/// The words of a rank, each with its complement: the minimum of both tells whether all ranks have the same word.
constexpr std::size_t kWords = 4;
/// Behind them the job's number, of which all ranks but rank 0 have the largest.
using Words = std::array<std::uint64_t, 2 * kWords + 1>;

Words words_of(const Presence& presence) {
  const std::array<std::uint64_t, kWords> plain{kMagic, presence.version, presence.settings, presence.usable ? 1u : 0u};
  Words words{};
  for (std::size_t i = 0; i < kWords; ++i) {
    words[2 * i] = plain[i];
    words[2 * i + 1] = ~plain[i];
  }
  // Job numbers have 63 bits. MPICH 4.0 compares unsigned numbers as signed ones, so all bits would be its least number.
  words.back() = library.rank == 0 ? presence.job_id : std::numeric_limits<std::int64_t>::max();
  return words;
}

bool same_at_all(const Words& least, std::size_t word) { return least[2 * word] == ~least[2 * word + 1]; }

/// Tests the requests until all are done or the time is over. Returns true if they are done.
bool done_within(std::vector<MPI_Request>& requests, std::chrono::milliseconds limit) {
  const auto until = Clock::now() + limit;
  for (unsigned round = 0;; ++round) {
    int done = 0;
    (void)mpi.Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (done != 0) return true;
    if (Clock::now() > until) return false;
    if (round > 1000) (void)::poll(nullptr, 0, 1);
  }
}

struct Answer {
  char host[64];
  std::int32_t local_size;  ///< Ranks on this host by the launcher's count; 0: it does not say.
};

int local_size_of_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"})
    if (const char* text = std::getenv(name); text != nullptr) return std::atoi(text);
  return 0;
}

/// Returns where the rank must be: the launcher started more ranks there than have answered. If all of a host's ranks are
/// missing, nobody knows its name, so the text names the others.
std::string host_of_missing(const std::vector<Answer>& answers) {
  std::map<std::string, int> counts, sizes;
  for (const auto& answer : answers) {
    ++counts[answer.host];
    sizes[answer.host] = answer.local_size;
  }
  std::string hosts;
  std::vector<std::string> names;
  for (const auto& [host, count] : counts) {
    if (host.empty()) continue;
    names.push_back(host);
    if (sizes[host] > count) hosts += (hosts.empty() ? "" : " or ") + host;
  }
  if (!hosts.empty()) return "host " + hosts;
  return names.empty() ? "a host of which no rank answers" : "a host other than " + listed(names);
}

[[noreturn]] void end_job() {
  std::vector<Answer> answers(static_cast<std::size_t>(library.size));
  Answer mine{};
  int length = 0;
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  (void)mpi.Get_processor_name(name, &length);
  std::string_view(name).copy(mine.host, sizeof mine.host - 1);
  mine.local_size = local_size_of_launcher();
  std::vector<MPI_Request> requests;
  for (int rank = 0; rank < library.size && library.size <= kNamedRanksMax; ++rank) {
    requests.emplace_back();
    (void)mpi.Irecv(&answers[static_cast<std::size_t>(rank)], sizeof(Answer), MPI_BYTE, rank, kTag, MPI_COMM_WORLD,
                    &requests.back());
    requests.emplace_back();
    (void)mpi.Isend(&mine, sizeof mine, MPI_BYTE, rank, kTag, MPI_COMM_WORLD, &requests.back());
  }
  (void)done_within(requests, kNamesWithin);
  std::vector<int> missing;
  int first = library.rank;
  for (int rank = 0; rank < library.size; ++rank) {
    const bool there = answers[static_cast<std::size_t>(rank)].host[0] != '\0';
    if (there) first = std::min(first, rank);
    if (!there) missing.push_back(rank);
  }
  if (library.rank == first) {
    const std::size_t more = missing.size() > 1 ? missing.size() - 1 : 0;
    std::fprintf(
        stderr, "%s\n",
        fmt::format("sumac: rank {}{} on {} did not answer within {} s: every rank needs the same Sumac library "
                    "(LD_PRELOAD must reach every host), or none may have it (SUMAC_ENABLE=0); the job ends",
                    missing.empty() ? -1 : missing.front(), more > 0 ? fmt::format(" and {} more", more) : "",
                    host_of_missing(answers), kAnswerWithin.count())
            .c_str());
  } else {
    (void)::poll(nullptr, 0, 2000);  // The first rank prints before anybody ends the job.
  }
  (void)mpi.Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/// All ranks are here but differ: finds the first rank that differs from rank 0, for the user.
std::string who_differs(const Presence& mine) {
  Words first = words_of(mine);
  (void)mpi.Bcast(first.data(), static_cast<int>(first.size()), MPI_UINT64_T, 0, MPI_COMM_WORLD);
  const Words own = words_of(mine);
  std::array<int, 3> at{};
  at.fill(library.size);
  for (std::size_t word = 1; word <= at.size(); ++word)
    if (own[2 * word] != first[2 * word] || (word == 3 && !mine.usable)) at[word - 1] = library.rank;
  std::array<int, 3> lowest{};
  (void)mpi.Allreduce(at.data(), lowest.data(), static_cast<int>(at.size()), MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (lowest[2] < library.size) return fmt::format("rank {} has a wrong setting", lowest[2]);
  if (lowest[0] < library.size) return fmt::format("rank {} has another version of Sumac than rank 0", lowest[0]);
  return fmt::format("rank {} has other settings (SUMAC_*, HCOLL_*) than rank 0", lowest[1]);
}

}  // namespace

std::string agree_on_presence(const Presence& mine, std::uint64_t& job_id) {
  const Words words = words_of(mine);
  Words least{};
  std::vector<MPI_Request> request(1);
  const int rc = mpi.Iallreduce(words.data(), least.data(), static_cast<int>(words.size()), MPI_UINT64_T, MPI_MIN,
                                MPI_COMM_WORLD, request.data());
  if (rc != MPI_SUCCESS) return "MPI_Iallreduce failed in MPI_Init";
  if (!done_within(request, kAnswerWithin)) end_job();
  if (least[0] != kMagic || !same_at_all(least, 0)) end_job();  // Another collective of the program met ours.
  job_id = least.back();
  for (std::size_t word = 1; word < kWords; ++word)
    if (!same_at_all(least, word)) return who_differs(mine);
  return mine.usable ? "" : "no rank has legal settings";
}

}  // namespace sumac::pmpi
