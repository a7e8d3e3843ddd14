// Mistakes of a client, and failures under it, end in a status at all ranks: no hang, no crash.
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "bindings/hcoll/test_client.hpp"

namespace {

/// So many seconds pass with each look at the clock, and have passed so.
std::atomic<int> seconds_a_look{0}, seconds_passed{0};

}  // namespace

/// The library's clock too, in place of the system's.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto status = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  now->tv_sec += (seconds_passed += seconds_a_look);
  return status;
}

namespace sumac::hcoll::test {
namespace {

TEST(Misuse, ATableThatLacksAFunction) {
  run_bare("a", [](Client&) {
    const auto without = [](auto member) {
      Client::fill(hcoll_rte_functions);
      hcoll_rte_functions.*member = nullptr;
      EXPECT_EQ(hcoll_init(), HCOLL_ERR_BAD_PARAM);
    };
    without(&rte_comm_fns_t::send_fn);
    without(&rte_comm_fns_t::recv_fn);
    without(&rte_comm_fns_t::test_fn);
    without(&rte_comm_fns_t::get_ec_handles_fn);
    without(&rte_comm_fns_t::rte_group_size_fn);
    without(&rte_comm_fns_t::rte_my_rank_fn);
    without(&rte_comm_fns_t::rte_progress_fn);
    Client::fill(hcoll_rte_functions);
    EXPECT_EQ(hcoll_read_init_opts(nullptr), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(hcoll_init_with_opts(nullptr), HCOLL_ERR_BAD_PARAM);
    hcoll_init_opts_t no_tags{100, 99, 0, 0}, *opts = &no_tags;
    EXPECT_EQ(hcoll_init_with_opts(&opts), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(hcoll_init(), HCOLL_SUCCESS);
    EXPECT_EQ(hcoll_rte_functions.rte_wait_completion_fn != nullptr, true);
    EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
  });
}

/// No rank has a context then, and none waits for ever.
void have_none(const std::string& hosts, const std::function<void(Client&)>& before) {
  run_bare(hosts, [&](Client& client) {
    before(client);
    init();
    EXPECT_EQ(hcoll_create_context(&client.world), nullptr);
    EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
  });
}

TEST(Misuse, MessagesThatFail) {
  for (const int sends : {0, 2, 5})
    have_none("aab", [&](Client& client) {
      if (client.rank == 1) client.sends_left = sends;
      ::setenv("SUMAC_TIMEOUT", "300ms", 1);  // A rank that can't send can't tell the others.
    });
}

TEST(Misuse, MessagesThatDoNotCome) {
  have_none("aaa", [](Client& client) {
    client.is_mute = client.rank == 0;
    ::setenv("SUMAC_TIMEOUT", "300ms", 1);
  });
}

TEST(Misuse, MessagesThatDoNotComeAreAwaitedForTenMinutes) {
  run_bare("aa", [](Client& client) {
    ::unsetenv("SUMAC_TIMEOUT");
    init();
    client.is_mute = client.rank == 1;
    seconds_a_look = client.rank == 0 ? 1 : 0;
    EXPECT_EQ(hcoll_create_context(&client.world), nullptr);
    seconds_a_look = 0;
    if (client.rank == 0) {
      EXPECT_GE(seconds_passed, 500);  // The rest is true time.
      EXPECT_LT(seconds_passed, 700);
    }
    EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
  });
}

TEST(Misuse, AClientWithoutAHandleOfARank) {
  for (const bool says_so : {false, true}) {
    static int status;
    status = says_so ? HCOLL_ERR_NOT_FOUND : HCOLL_SUCCESS;
    have_none("aa", [](Client&) {
      hcoll_rte_functions.get_ec_handles_fn = [](int, int*, rte_grp_handle_t, rte_ec_handle_t* handle) {
        *handle = {};
        return status;
      };
    });
  }
}

TEST(Misuse, AGroupLargerThanAny) {
  have_none("a", [](Client&) { hcoll_rte_functions.rte_group_size_fn = [](rte_grp_handle_t) { return 1 << 28; }; });
}

TEST(Misuse, RanksThatDisagreeOnTheGroup) {
  have_none("aaa", [](Client& client) {
    if (client.rank == 1) client.world.ranks.pop_back();
    ::setenv("SUMAC_TIMEOUT", "1s", 1);
  });
}

TEST(Misuse, AVariableThatIsWrongAtOneRank) {
  have_none("aa", [](Client& client) {
    if (client.rank == 1) ::setenv("HCOLL_ENABLE_SHARP", "9", 1);
  });
}
TEST(Misuse, VariablesThatDiffer) {
  have_none("aa", [](Client& client) { ::setenv("HCOLL_SHARP_NP", client.rank == 1 ? "3" : "2", 1); });
}
TEST(Misuse, ARankThatIsSwitchedOff) {
  have_none("aa", [](Client& client) {
    if (client.rank == 1) ::setenv("SUMAC_ENABLE", "0", 1);
  });
}

TEST(Misuse, OfArguments) {
  run("aa", [](Client& client, void* context) {
    auto& table = hcoll_collectives;
    int value = 1, all[2] = {}, counts[2] = {1, -1}, good[2] = {1, 1}, places[2] = {0, 1};
    hcoll_dte_op_t wrong{77};
    hcoll_datatype_t complex = DTE_ZERO;  // As Open MPI describes a type that it does not know.
    complex.rep.in_line_rep.data_handle.in_line.in_line = 0;
    hcoll_datatype_t other = DTE_INT32;
    other.id = 99;
    void* handle = nullptr;
    EXPECT_EQ(table.coll_bcast(&value, -1, DTE_INT32, 0, context), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(table.coll_bcast(&value, 1, DTE_INT32, 2, context), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(table.coll_bcast(&value, 1, DTE_INT32, -1, context), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(table.coll_bcast(nullptr, 1, DTE_INT32, 0, context), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(table.coll_bcast(&value, 1, DTE_ZERO, 0, context), HCOLL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(table.coll_bcast(&value, 1, DTE_LB, 0, context), HCOLL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(table.coll_bcast(&value, 1, complex, 0, context), HCOLL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(table.coll_bcast(&value, 1, other, 0, context), HCOLL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(table.coll_allreduce(&value, all, 1, DTE_INT32, nullptr, context), HCOLL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(table.coll_allreduce(&value, all, 1, DTE_INT32, HCOL_OP_NULL, context), HCOLL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(table.coll_allreduce(&value, all, 1, DTE_INT32, &wrong, context), HCOLL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(table.coll_allreduce(&value, all, 1, DTE_2INT, HCOL_OP_SUM, context), HCOLL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(table.coll_allgather(&value, 2, DTE_INT32, all, 1, DTE_INT32, context), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(table.coll_allgatherv(&value, 1, DTE_INT32, all, counts, places, DTE_INT32, context),
              HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(table.coll_allgatherv(&value, 1, DTE_INT32, all, good, nullptr, DTE_INT32, context), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(table.coll_alltoallv(all, nullptr, places, DTE_INT32, all, good, places, DTE_INT32, context),
              HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(table.coll_reduce_scatter(all, &value, nullptr, DTE_INT32, HCOL_OP_SUM, context), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(table.coll_reduce_scatter(all, HCOLL_IN_PLACE, good, DTE_INT32, HCOL_OP_SUM, context),
              HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(table.coll_alltoallw, nullptr);
    hcoll_datatype_t nowhere{};
    nowhere.id = HCOL_DTE_MPI;
    EXPECT_EQ(table.coll_bcast(&value, 1, nowhere, 0, context), HCOLL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(table.coll_ibarrier(context, nullptr), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(table.coll_ibcast(&value, 1, DTE_ZERO, 0, &handle, context), HCOLL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(handle, nullptr);
    // A client that has no object.
    hcoll_rte_functions.rte_get_coll_handle_fn = []() -> void* { return nullptr; };
    EXPECT_EQ(table.coll_ibarrier(context, &handle), HCOLL_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(handle, nullptr);
    // None of it has disturbed the context.
    EXPECT_EQ(table.coll_allreduce(&value, all, 1, DTE_INT32, HCOL_OP_SUM, context), HCOLL_SUCCESS);
    EXPECT_EQ(all[0], 2);
    EXPECT_EQ(client.handles, 0);
    EXPECT_EQ(hcoll_dt_destroy(DTE_ZERO), HCOLL_SUCCESS);
    EXPECT_EQ(hcoll_create_mpi_type(&value, nullptr), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(hcoll_create_mpi_type(&value, &other), HCOLL_SUCCESS);
    EXPECT_TRUE(HCOL_DTE_IS_ZERO(other));
  });
}

TEST(Misuse, AForksChildIsRefused) {
  run("aa", [](Client& client, void* context) {
    if (client.rank == 1) {
      const pid_t child = ::fork();
      if (child == 0) {
        int value = 1;
        void* handle = nullptr;
        const bool is_refused =
            hcoll_collectives.coll_barrier(context) == HCOLL_ERR_NOT_AVAILABLE &&
            hcoll_collectives.coll_ibcast(&value, 1, DTE_INT32, 0, &handle, context) != HCOLL_SUCCESS &&
            hcoll_create_context(&client.world) == nullptr && hcoll_progress_fn() == 0 &&
            hcoll_context_free(context, &client.world) == HCOLL_ERR_NOT_AVAILABLE && hcoll_finalize() == HCOLL_SUCCESS;
        ::_exit(is_refused ? 0 : 3);
      }
      int status = -1;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(hcoll_collectives.coll_barrier(context), HCOLL_SUCCESS);
  });
}

/// The child's contexts are others, and its parent's stay as they are.
TEST(Misuse, AForksChildBeginsAnew) {
  run("aa", [](Client& client, void* context) {
    void* handle = nullptr;
    EXPECT_EQ(hcoll_collectives.coll_ibarrier(context, &handle), HCOLL_SUCCESS);
    const pid_t child = ::fork();
    if (child == 0) {
      if (client.rank == 0) (void)hcoll_finalize();
      init();
      int value = 1;
      const bool is_refused =
          hcoll_progress_fn() == 0 &&
          hcoll_collectives.coll_bcast(&value, 1, DTE_INT32, client.rank, context) == HCOLL_ERR_BAD_PARAM &&
          hcoll_context_free(context, &client.world) == HCOLL_ERR_BAD_PARAM && hcoll_finalize() == HCOLL_SUCCESS;
      ::_exit(is_refused ? 0 : 3);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    wait(handle);
    EXPECT_EQ(hcoll_collectives.coll_barrier(context), HCOLL_SUCCESS);
  });
}

/// A status would make the client do it again, and ranks that have the result would not come.
TEST(Misuse, AnOperationThatFailsEndsTheProcess) {
  for (const bool waits : {false, true})
    run_bare("aab",
             [&](Client& client) {
               init();
               void* const context = hcoll_create_context(&client.world);
               if (client.rank == 1) ::_exit(0);
               void* handle = nullptr;
               if (waits) {
                 EXPECT_EQ(hcoll_collectives.coll_ibarrier(context, &handle), HCOLL_SUCCESS);
                 wait(handle);
               } else {
                 (void)hcoll_collectives.coll_barrier(context);
               }
               ::_exit(9);  // It does not come here.
             },
             {1, 0, 1});
}

TEST(Misuse, ATimeLimitEndsTheProcess) {
  run_bare("aa",
           [](Client& client) {
             ::setenv("SUMAC_TIMEOUT", "200ms", 1);
             init();
             void* const context = hcoll_create_context(&client.world);
             if (client.rank == 1) {
               // It is there, and does not come.
               char end = 0;
               (void)!::read(client.sockets[0], &end, 1);
               ::_exit(0);
             }
             (void)hcoll_collectives.coll_barrier(context);
             ::_exit(9);
           },
           {1, 0});
}

}  // namespace
}  // namespace sumac::hcoll::test
