#pragma once
// Ranks as processes with a team of the public header, on hosts that are letters.
#include <gtest/gtest.h>
#include <sched.h>
#include <sumac/team.h>
#include <sys/mman.h>

#include <functional>
#include <string>
#include <vector>

#include "bindings/ucc/test_oob.hpp"
#include "rank/test_hosts.hpp"

namespace sumac::c::test {

using ucc::test::OobMember;
using ucc::test::SharedOob;

/// The function that a program gives, by the memory that the ranks share.
inline int gather(void* context, const void* in, void* out, std::size_t bytes) {
  const ucc_oob_coll_t oob = static_cast<OobMember*>(context)->params();
  void* request = nullptr;
  if (oob.allgather(const_cast<void*>(in), out, bytes, oob.coll_info, &request) != UCC_OK) return -1;
  while (oob.req_test(request) != UCC_OK) ::sched_yield();
  return 0;
}

inline sumac_team_params params_of(OobMember& member) {
  sumac_team_params params{};
  params.struct_bytes = sizeof params;
  params.rank = member.rank;
  params.size = member.size;
  params.allgather = &gather;
  params.context = &member;
  return params;
}

/// Runs `body` as ranks that can meet.
/// @param ends  As of await_ranks().
inline void run_bare(const std::string& hosts, const std::function<void(const sumac_team_params&)>& body,
                     std::vector<int> ends = {}) {
  auto* const shared = static_cast<SharedOob*>(
      ::mmap(nullptr, sizeof(SharedOob), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  const auto started = rank::test::start_on_hosts(hosts, [&](int rank) {
    OobMember member{shared, rank, static_cast<int>(hosts.size())};
    SCOPED_TRACE(testing::Message() << "rank " << rank << " of " << hosts);
    body(params_of(member));
  });
  ::munmap(shared, sizeof(SharedOob));
  rank::test::await_ranks(started, std::move(ends));
}

/// The same with a team of all ranks.
inline void run(const std::string& hosts, const std::function<void(sumac_open_team_t*)>& body,
                std::vector<int> ends = {}, std::int64_t timeout_ms = 0) {
  run_bare(
      hosts,
      [&](sumac_team_params params) {
        params.timeout_ms = timeout_ms;
        sumac_open_team_t* team = nullptr;
        ASSERT_EQ(sumac_team_open(&params, &team), SUMAC_OK) << sumac_team_why(nullptr);
        body(team);
        sumac_team_close(team);
      },
      std::move(ends));
}

}  // namespace sumac::c::test
