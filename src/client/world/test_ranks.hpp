#pragma once
// Ranks of a job as separate processes, forked from the test: with out-of-band functions over socket pairs in a star,
// their output in files, and a time limit.
#include <sharp/api/sharp.h>
#include <sharp/api/sumac_ext.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "client/world/test_daemons.hpp"

namespace sumac::client::test {

/// In a rank: prints position and reason, and ends the rank. (GoogleTest's macros would end the wrong process.)
#define RANK_CHECK(condition)                                                        \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::_Exit(1);                                                                 \
    }                                                                                \
  } while (false)
#define RANK_EQUAL(actual, expected)                                                     \
  do {                                                                                   \
    const auto actual_ = (actual);                                                       \
    const auto expected_ = (expected);                                                   \
    if (!(actual_ == expected_)) {                                                       \
      std::fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #actual, \
                   static_cast<long long>(actual_), static_cast<long long>(expected_));  \
      std::_Exit(1);                                                                     \
    }                                                                                    \
  } while (false)

struct Rank {
  int rank = 0, size = 0;
  std::vector<int> peer;  ///< Rank 0: a socket to each; others: peer[0] to rank 0.

  /// The spec of a careful client; change it before sharp_coll_init.
  sharp_coll_init_spec init_spec(std::uint64_t job_id);
  sharp_coll_context* init(std::uint64_t job_id);      ///< Must succeed.
  sharp_coll_comm* comm(sharp_coll_context* context);  ///< Must succeed.
  /// Returns the status of sharp_coll_comm_init; `comm` is null if it fails.
  int try_comm(sharp_coll_context* context, sharp_coll_comm*& comm);
  void barrier();
};

sumac_comm_info info_of(sharp_coll_comm* comm);
sumac_coll_stats stats_of(sharp_coll_context* context);

/// The out-of-band functions; the context is a Rank.
int oob_bcast(void* rank, void* buffer, int length, int root);
int oob_barrier(void* rank);
int oob_gather(void* rank, int root, void* mine, void* all, int length);

struct Ended {
  int status = 0;  ///< Exit status, or 128 + signal.
  std::string out, err;
};

struct RanksConfig {
  int size = 2;
  std::vector<std::string> sockets;  ///< The sockets of sharpd; rank r uses number r modulo their count.
  Environment environment;
  std::chrono::seconds limit{60};
  /// Called in this process when all ranks run, instead of a thread: under tsan the children of a process with threads may start none.
  std::function<void()> meanwhile{};
};

/// Runs `body` in each rank and waits; a rank that is not back in time is killed (status 137).
std::vector<Ended> run_ranks(const RanksConfig& config, const std::function<void(Rank&)>& body);

/// Returns "" if all ended with 0 and wrote nothing to stdout; else a text that names the ranks that did not.
std::string complaint(const std::vector<Ended>& ranks);

std::uint64_t new_job_id();

}  // namespace sumac::client::test
