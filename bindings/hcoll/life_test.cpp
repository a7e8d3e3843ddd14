// The order of calls, from before the begin to after the end, as MPIs make them.
#include <cstdlib>
#include <thread>
#include <utility>

#include "bindings/hcoll/test_collective.hpp"

namespace sumac::hcoll::test {
namespace {

int sum_over(void* context) {
  int value = 1;
  EXPECT_EQ(hcoll_collectives.coll_allreduce(HCOLL_IN_PLACE, &value, 1, DTE_INT32, HCOL_OP_SUM, context),
            HCOLL_SUCCESS);
  return value;
}

TEST(Life, ProgressIsCalledBeforeTheBeginAndAfterTheEnd) {
  run_bare("aa", [](Client& client) {
    EXPECT_EQ(hcoll_progress_fn(), 0);
    EXPECT_EQ(hcoll_create_context(&client.world), nullptr);
    EXPECT_EQ(hcoll_finalize(), HCOLL_ERR_NOT_INITIALIZED);
    for (int life = 0; life < 2; ++life) {
      init();
      init();  // Nothing is done a second time.
      EXPECT_EQ(hcoll_progress_fn(), 0);
      void* const context = hcoll_create_context(&client.world);
      EXPECT_EQ(sum_over(context), 2);
      EXPECT_EQ(hcoll_context_free(context, &client.world), HCOLL_SUCCESS);
      EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
      EXPECT_EQ(hcoll_progress_fn(), 0);
    }
    EXPECT_EQ(hcoll_check_mem_release_cb_needed(), 0);
    EXPECT_EQ(hcoll_rte_p2p_disabled_notify(), HCOLL_SUCCESS);
    hcoll_mem_unmap(&client, sizeof client, nullptr, 0);
  });
}

/// An MPI may have destroyed its communicators by then, and leave contexts.
TEST(Life, TheEndCallsNothingOfTheClient) {
  run_bare("aab", [](Client& client) {
    EXPECT_EQ(hcoll_set_runtime_tag_offset(31, 31 + 255), HCOLL_SUCCESS);
    EXPECT_EQ(hcoll_init(), HCOLL_SUCCESS);
    void* const left = hcoll_create_context(&client.world);
    Group copy = client.world;
    copy.id = 2;
    void* const other = hcoll_create_context(&copy);
    EXPECT_EQ(sum_over(left), 3);
    EXPECT_EQ(sum_over(other), 3);
    const int calls = client.calls;
    EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
    EXPECT_EQ(client.calls, calls);
    int value = 1;
    EXPECT_EQ(hcoll_collectives.coll_bcast(&value, 1, DTE_INT32, 0, left), HCOLL_ERR_BAD_PARAM);
  });
}

TEST(Life, ContextsEndByEachOfTheirFunctions) {
  run("aa", [](Client& client, void* context) {
    for (int i = 0; i < 300; ++i) {
      Group group = client.group_of(10 + i, i % 2 == 0 ? std::vector<int>{0, 1} : std::vector<int>{1, 0});
      void* const one = hcoll_create_context(&group);
      ASSERT_NE(one, nullptr);
      EXPECT_EQ(sum_over(one), 2);
      EXPECT_EQ(hcoll_group_destroy_notify(one), HCOLL_SUCCESS);
      int is_destroyed = -1;
      if (i % 2 == 0) {
        EXPECT_EQ(hcoll_destroy_context(one, &group, &is_destroyed), HCOLL_SUCCESS);
        EXPECT_EQ(is_destroyed, 1);
      } else {
        EXPECT_EQ(hcoll_context_free(one, &group), HCOLL_SUCCESS);
      }
      EXPECT_EQ(hcoll_destroy_context(one, &group, &is_destroyed), HCOLL_ERR_BAD_PARAM);
      EXPECT_EQ(is_destroyed, 0);
      EXPECT_EQ(hcoll_context_free(one, &group), HCOLL_ERR_BAD_PARAM);
      EXPECT_EQ(hcoll_group_destroy_notify(one), HCOLL_ERR_BAD_PARAM);
      EXPECT_EQ(hcoll_collectives.coll_barrier(one), HCOLL_ERR_BAD_PARAM);
    }
    EXPECT_EQ(sum_over(context), 2);
    EXPECT_EQ(hcoll_collectives.coll_barrier(nullptr), HCOLL_ERR_BAD_PARAM);
    EXPECT_EQ(hcoll_context_free(nullptr, nullptr), HCOLL_ERR_BAD_PARAM);
    Group alone = client.group_of(9, {client.rank});
    EXPECT_EQ(hcoll_create_context(&alone), nullptr);
  });
}

/// With threads, one may post and another drive.
TEST(Life, AThreadForEachContextAndOneThatDrives) {
  run_bare("aa", [](Client& client) {
    init({}, true);
    std::vector<Group> groups;
    std::vector<void*> contexts;
    for (int i = 0; i < 4; ++i) groups.push_back(client.group_of(20 + i, {0, 1}));
    for (Group& group : groups) contexts.push_back(hcoll_create_context(&group));
    std::atomic<bool> is_over{false};
    std::thread driver([&] {
      while (!is_over) (void)hcoll_progress_fn(), std::this_thread::yield();
    });
    std::vector<std::thread> threads;
    for (void* context : contexts)
      threads.emplace_back([context] {
        for (int i = 0; i < 200; ++i) {
          int value = 1;
          void* handle = nullptr;
          ASSERT_EQ(
              hcoll_collectives.coll_iallreduce(HCOLL_IN_PLACE, &value, 1, DTE_INT32, HCOL_OP_SUM, context, &handle),
              HCOLL_SUCCESS);
          while (__atomic_load_n(&static_cast<Handle*>(handle)->completions, __ATOMIC_ACQUIRE) == 0)
            std::this_thread::yield();
          EXPECT_EQ(value, 2);
          delete static_cast<Handle*>(handle);
        }
      });
    for (std::thread& thread : threads) thread.join();
    is_over = true;
    driver.join();
    for (std::size_t i = 0; i < groups.size(); ++i)
      EXPECT_EQ(hcoll_context_free(contexts[i], &groups[i]), HCOLL_SUCCESS);
    EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
  });
}

/// An MPI may end a communicator whose request it still waits for.
TEST(Life, AContextIsFreedBeforeItsOperationsEnd) {
  for (const char* hosts : {"aa", "ab"})
    run(hosts, [](Client& client, void* context) {
      Group group = client.group_of(2, {0, 1});
      void* const freed = hcoll_create_context(&group);
      void* handle = nullptr;
      if (client.rank == 1) {
        EXPECT_EQ(hcoll_collectives.coll_barrier(context), HCOLL_SUCCESS);
      }
      EXPECT_EQ(hcoll_collectives.coll_ibarrier(freed, &handle), HCOLL_SUCCESS);
      EXPECT_EQ(hcoll_context_free(freed, &group), HCOLL_SUCCESS);
      EXPECT_EQ(hcoll_context_free(freed, &group), HCOLL_ERR_BAD_PARAM);
      EXPECT_EQ(hcoll_collectives.coll_barrier(freed), HCOLL_ERR_BAD_PARAM);
      if (client.rank == 0) {
        EXPECT_EQ(hcoll_collectives.coll_barrier(context), HCOLL_SUCCESS);
      }
      wait(handle);
      EXPECT_EQ(sum_over(context), 2);
    });
}

/// The client does it where an object of it completes.
std::function<void()> when_complete;

void complete(void* handle) {
  ++static_cast<Handle*>(handle)->completions;
  if (when_complete) std::exchange(when_complete, nullptr)();
}

TEST(Life, AClientCallsAnythingWhereItsObjectCompletes) {
  using Use = std::function<void(Group&, void*& context)>;
  const Use uses[] = {
      [](Group& group, void*& context) {
        EXPECT_EQ(hcoll_context_free(context, &group), HCOLL_SUCCESS);
        context = hcoll_create_context(&group);
      },
      [](Group&, void*& context) { EXPECT_EQ(hcoll_collectives.coll_barrier(context), HCOLL_SUCCESS); },
      [](Group&, void*& context) {
        void* handle = nullptr;
        EXPECT_EQ(hcoll_collectives.coll_ibarrier(context, &handle), HCOLL_SUCCESS);
        wait(handle);
      },
      [](Group& group, void*& context) {
        EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
        init();
        context = hcoll_create_context(&group);
      },
  };
  for (const bool blocks : {false, true})
    for (const Use& use : uses)
      run_bare("aa", [&](Client& client) {
        hcoll_rte_functions.rte_coll_handle_complete_fn = &complete;
        init();
        void *context = hcoll_create_context(&client.world), *const first = context, *handle = nullptr;
        when_complete = [&] { use(client.world, context); };
        EXPECT_EQ(hcoll_collectives.coll_ibarrier(context, &handle), HCOLL_SUCCESS);
        if (blocks) {  // The object completes before the barrier begins, at all ranks: one may have freed its context then.
          const int status = hcoll_collectives.coll_barrier(first);
          EXPECT_FALSE(when_complete);
          EXPECT_EQ(status, context == first ? HCOLL_SUCCESS : HCOLL_ERR_BAD_PARAM);
        }
        wait(handle);
        EXPECT_FALSE(when_complete);
        EXPECT_EQ(sum_over(context), 2);
        EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
      });
}

/// The client calls it from its rte_progress_fn.
TEST(Life, ABlockingCollectiveInsideAnotherOneOfItsContextIsRefused) {
  static struct {
    void (*progress)();
    void* context;
    int status, refused;
  } inside;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  for (const char* hosts : {"aa", "ab"})
    run(hosts, [&](Client& client, void* context) {
      char word = 0;
      if (client.rank == 1) {
        EXPECT_EQ(::read(ends[0], &word, 1), 1);
      } else {
        inside = {hcoll_rte_functions.rte_progress_fn, context, HCOLL_SUCCESS, ends[1]};
        hcoll_rte_functions.rte_progress_fn = [] {
          inside.progress();
          if (inside.status != HCOLL_SUCCESS) return;
          inside.status = hcoll_collectives.coll_barrier(inside.context);
          EXPECT_EQ(::write(inside.refused, "", 1), 1);
        };
      }
      EXPECT_EQ(hcoll_collectives.coll_barrier(context), HCOLL_SUCCESS);
      if (client.rank == 0) {
        EXPECT_EQ(inside.status, HCOLL_ERR_RESOURCE_BUSY);
      }
      EXPECT_EQ(sum_over(context), 2);
    });
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Life, TheEndComesBeforeThatOfAnOperation) {
  run_bare("aa", [](Client& client) {
    for (int life = 0; life < 3; ++life) {
      init();
      void *const context = hcoll_create_context(&client.world), *handle = nullptr;
      if (client.rank == 0) {
        EXPECT_EQ(hcoll_collectives.coll_ibarrier(context, &handle), HCOLL_SUCCESS);
      }
      EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
      EXPECT_EQ(hcoll_progress_fn(), 0);
      EXPECT_EQ(hcoll_collectives.coll_barrier(context), HCOLL_ERR_BAD_PARAM);
    }
  });
}

// ---- what each client is offered ----

TEST(Offers, MpichDoesAlltoallvItselfAndIsNotAskedForTypes) {
  for (const Tags tags : {kMpich3, kMpich4})
    run(
        "aa",
        [&](Client& client, void* context) {
          hcoll_rte_functions.rte_get_mpi_type_envelope_fn = [](void*, int*, int*, int*, hcoll_mpi_type_combiner_t*) {
            ADD_FAILURE() << "MPICH's function crashes for the copy of a type";
            return -1;
          };
          hcoll_datatype_t type = DTE_INT32;
          EXPECT_EQ(hcoll_create_mpi_type(&client, &type), HCOLL_SUCCESS);
          EXPECT_TRUE(HCOL_DTE_IS_ZERO(type));
          int own[2] = {client.rank, client.rank}, got[2] = {}, counts[2] = {1, 1}, places[2] = {0, 1};
          const auto& table = hcoll_collectives;
          EXPECT_EQ(table.coll_alltoallv(own, counts, places, DTE_INT32, got, counts, places, DTE_INT32, context),
                    HCOLL_ERR_NOT_SUPPORTED);
          EXPECT_EQ(got[1], 0);
          for (const Coll coll :
               {Coll::barrier, Coll::bcast, Coll::reduce, Coll::allreduce, Coll::allgather, Coll::alltoall})
            Case{coll, 3}.run(context, client.rank, client.size);
        },
        tags);
}

TEST(Offers, OpenMpiHasThoseWhoseTypesAllRanksShare) {
  run(
      "aa",
      [](Client& client, void* context) {
        const auto& table = hcoll_collectives;
        EXPECT_EQ(table.coll_gatherv, nullptr);
        EXPECT_EQ(table.coll_igatherv, nullptr);
        EXPECT_EQ(table.coll_scatterv, nullptr);
        EXPECT_EQ(table.coll_allgatherv, nullptr);
        EXPECT_EQ(table.coll_alltoall, nullptr);
        EXPECT_EQ(table.coll_ialltoallv, nullptr);
        for (const Coll coll : {Coll::barrier, Coll::bcast, Coll::reduce, Coll::allreduce, Coll::allgather,
                                Coll::reduce_scatter, Coll::reduce_scatter_block})
          Case{coll, 3}.run(context, client.rank, client.size);
      },
      kOpenMpi);
}

TEST(Offers, AClientWithoutObjectsHasNoNonblockingOnes) {
  run_bare("aa", [](Client& client) {
    hcoll_rte_functions.rte_get_coll_handle_fn = nullptr;
    hcoll_rte_functions.rte_group_id_fn = nullptr;
    init();
    EXPECT_EQ(hcoll_collectives.coll_ibarrier, nullptr);
    EXPECT_EQ(hcoll_collectives.coll_iallreduce, nullptr);
    void* const context = hcoll_create_context(&client.world);
    EXPECT_EQ(sum_over(context), 2);
    EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
  });
}

TEST(Offers, ACollectiveThatIsSwitchedOffIsTheClients) {
  run_bare("aa", [](Client& client) {
    ::setenv("HCOLL_ML_DISABLE_GATHERV", "1", 1);
    ::setenv("HCOLL_ML_DISABLE_REDUCE_SCATTER", "1", 1);
    ::setenv("HCOLL_ML_DISABLE_BCAST", "1", 1);
    init();
    EXPECT_EQ(hcoll_collectives.coll_gatherv, nullptr);
    EXPECT_EQ(hcoll_collectives.coll_reduce_scatter, nullptr);
    ASSERT_NE(hcoll_collectives.coll_reduce_scatter_block, nullptr);
    void* const context = hcoll_create_context(&client.world);
    int value = 1;
    void* handle = nullptr;
    EXPECT_EQ(hcoll_collectives.coll_bcast(&value, 1, DTE_INT32, 0, context), HCOLL_ERR_NOT_AVAILABLE);
    EXPECT_EQ(hcoll_collectives.coll_ibcast(&value, 1, DTE_INT32, 0, &handle, context), HCOLL_ERR_NOT_AVAILABLE);
    EXPECT_EQ(handle, nullptr);
    EXPECT_EQ(client.handles, 0);
    EXPECT_EQ(sum_over(context), 2);
    EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
  });
}

}  // namespace
}  // namespace sumac::hcoll::test
