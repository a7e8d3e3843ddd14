#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rank/profile_table.hpp"

namespace sumac::rank {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

struct Table : testing::Test {
  std::unique_ptr<ProfileTable> table = std::make_unique<ProfileTable>();

  void count(int coll, int form, int way, std::uint64_t bytes, std::int64_t ns) {
    table->count(coll, form, way, bytes, ns);
  }
};

TEST_F(Table, each_size_has_the_first_class_that_holds_it) {
  const struct {
    std::uint64_t bytes;
    const char* name;
  } sizes[] = {{0, "0 B"},
               {1, "<= 64 B"},
               {64, "<= 64 B"},
               {65, "<= 512 B"},
               {512, "<= 512 B"},
               {513, "<= 4 KiB"},
               {4096, "<= 4 KiB"},
               {4097, "<= 32 KiB"},
               {32768, "<= 32 KiB"},
               {32769, "<= 256 KiB"},
               {262144, "<= 256 KiB"},
               {262145, "<= 2 MiB"},
               {2097152, "<= 2 MiB"},
               {2097153, "<= 16 MiB"},
               {16777216, "<= 16 MiB"},
               {16777217, "> 16 MiB"},
               {UINT64_MAX, "> 16 MiB"}};
  for (const auto& size : sizes) {
    SCOPED_TRACE(size.bytes);
    EXPECT_STREQ(size_class_name(size_class_of(size.bytes)), size.name);
  }
}

TEST_F(Table, every_kind_of_call_has_a_cell_of_its_own) {
  for (int coll = 0; coll < SUMAC_PROFILE_COLLS; ++coll)
    for (int form = 0; form < SUMAC_FORMS; ++form)
      for (int way = 0; way < SUMAC_PROFILE_WAYS; ++way) count(coll, form, way, 100, 1);
  std::size_t found = 0;
  for (std::size_t i = 0; i < kProfileCells; ++i) {
    const auto kind = profile_kind_of(i);
    const auto& cell = table->cells[kind.coll][kind.form][kind.size_class][kind.way];
    EXPECT_EQ(&cell, &table->cells[0][0][0][0] + i);
    EXPECT_EQ(cell.calls, kind.size_class == size_class_of(100) ? 1 : 0);
    found += static_cast<std::size_t>(cell.calls);
  }
  EXPECT_EQ(found, std::size_t{SUMAC_PROFILE_COLLS} * SUMAC_FORMS * SUMAC_PROFILE_WAYS);
}

TEST_F(Table, functions_have_the_names_that_mpi_gives_them) {
  const struct {
    int coll, form;
    const char* name;
  } functions[] = {{SUMAC_COLL_ALLREDUCE, SUMAC_FORM_BLOCKING, "allreduce"},
                   {SUMAC_COLL_BARRIER, SUMAC_FORM_NONBLOCKING, "ibarrier"},
                   {SUMAC_COLL_REDUCE_SCATTER_BLOCK, SUMAC_FORM_PERSISTENT, "reduce_scatter_block_init"},
                   {SUMAC_COLL_REDUCE_SCATTER, SUMAC_FORM_BLOCKING, "reduce_scatter"},
                   {SUMAC_COLL_SCAN, SUMAC_FORM_NONBLOCKING, "iscan"},
                   {SUMAC_COLL_EXSCAN, SUMAC_FORM_BLOCKING, "exscan"},
                   {SUMAC_PROFILE_ALLTOALLW, SUMAC_FORM_PERSISTENT, "alltoallw_init"}};
  for (const auto& function : functions) {
    char name[40];
    sumac_profile_name(function.coll, function.form, name);
    EXPECT_STREQ(name, function.name);
  }
}

TEST_F(Table, rows_are_sorted_by_time_and_the_others_are_summed_up) {
  // 13 collectives and two size classes are 26 rows, with 1 ms to 26 ms.
  for (int i = 0; i < 26; ++i)
    count(i % 13, SUMAC_FORM_BLOCKING, SUMAC_WAY_HOST, i < 13 ? 8 : 1000, ((i * 7) % 26 + 1) * kMs);
  const auto found = profile_rows(*table, kProfileRowsMax);
  ASSERT_EQ(found.rows.size(), kProfileRowsMax);
  for (std::size_t i = 0; i < kProfileRowsMax; ++i) EXPECT_EQ(found.rows[i].sum.ns, (26 - static_cast<int>(i)) * kMs);
  EXPECT_EQ(found.left_out_rows, 6u);
  EXPECT_EQ(found.left_out.calls, 6);
  EXPECT_EQ(found.left_out.ns, (1 + 2 + 3 + 4 + 5 + 6) * kMs);
  EXPECT_EQ(table->total().ns, 351 * kMs);
}

TEST_F(Table, a_row_adds_up_calls_bytes_and_time) {
  count(SUMAC_COLL_BCAST, SUMAC_FORM_BLOCKING, SUMAC_WAY_TREE, 65, 3);
  count(SUMAC_COLL_BCAST, SUMAC_FORM_BLOCKING, SUMAC_WAY_TREE, 512, 4);
  const auto found = profile_rows(*table, kProfileRowsMax);
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].sum.calls, 2);
  EXPECT_EQ(found.rows[0].sum.bytes, 577);
  EXPECT_EQ(found.rows[0].sum.ns, 7);
  EXPECT_EQ(found.left_out_rows, 0u);
}

TEST_F(Table, the_printed_table_is_aligned_and_has_units) {
  for (int i = 0; i < 40000; ++i) count(SUMAC_COLL_ALLREDUCE, SUMAC_FORM_BLOCKING, SUMAC_WAY_HOST, 8, 30000);
  count(SUMAC_COLL_REDUCE_SCATTER_BLOCK, SUMAC_FORM_PERSISTENT, SUMAC_WAY_LEADERS, 3 << 20, 800 * kMs);
  count(SUMAC_COLL_BARRIER, SUMAC_FORM_NONBLOCKING, SUMAC_WAY_PASS, 0, 950);
  Profile profile;
  profile.ranks = 4;
  profile.hosts = 2;
  profile.wall_ns_max = 12345 * kMs;
  profile.wall_ns_sum = 40000 * kMs;
  profile.ns_min = 400 * kMs;
  profile.slowest = {600 * kMs, 3, "node7"};
  profile.total = table->total();
  static_cast<ProfileRows&>(profile) = profile_rows(*table, kProfileRowsMax);
  int rank = 0;
  for (auto& row : profile.rows) {
    row.slowest = {(rank + 1) * 10 * kMs, rank, "node1"};
    ++rank;
  }
  profile.next = "next module";
  EXPECT_EQ(to_string(profile),
            "sumac: profile: 4 ranks on 2 hosts, 12.3 s from MPI_Init to MPI_Finalize\n"
            "  in collectives: 2.00 s of all ranks together, 5.0 % of their time\n"
            "  a rank: least 400 ms, mean 500 ms, most 600 ms (rank 3 on node7)\n"
            "  collective                 size        way                              calls      bytes      time  "
            "share      mean   slowest rank\n"
            "  allreduce                  <= 64 B     shared memory                    40000    312 KiB    1.20 s "
            "60.0 %   30.0 us   0 on node1: 10.0 ms\n"
            "  reduce_scatter_block_init  <= 16 MiB   shared memory and leaders            1   3.00 MiB    800 ms "
            "40.0 %    800 ms   1 on node1: 20.0 ms\n"
            "  ibarrier                   0 B         next module                          1        0 B    950 ns  "
            "0.0 %    950 ns   2 on node1: 30.0 ms\n"
            "  all                                                                     40002   3.31 MiB    2.00 s "
            "100.0 %   50.0 us\n");
}

TEST_F(Table, exact_numbers_are_printed_if_asked_for) {
  count(SUMAC_COLL_BCAST, SUMAC_FORM_BLOCKING, SUMAC_WAY_HOST, 1234567, 10);
  Profile profile;
  profile.ranks = profile.hosts = 1;
  profile.total = table->total();
  static_cast<ProfileRows&>(profile) = profile_rows(*table, 1);
  profile.is_exact = true;
  EXPECT_THAT(to_string(profile), HasSubstr(" 1234567 B "));
}

TEST_F(Table, a_job_without_calls_says_so) {
  Profile profile;
  profile.ranks = 2;
  profile.hosts = 1;
  EXPECT_THAT(to_string(profile), HasSubstr("2 ranks on 1 host,"));
  EXPECT_THAT(to_string(profile), HasSubstr("\n  no collective was called\n"));
}

TEST(ProfileWay, is_the_one_whose_counter_rose) {
  const std::uint64_t none[SUMAC_WAYS] = {};
  for (int way = 0; way < SUMAC_WAYS; ++way) {
    std::uint64_t ways[SUMAC_WAYS] = {};
    ways[way] = 1;
    EXPECT_EQ(sumac_profile_way_of(ways, 0, SUMAC_COLL_BCAST, 8), way);
  }
  EXPECT_EQ(sumac_profile_way_of(none, 1, SUMAC_COLL_BCAST, 0), SUMAC_WAY_PASS) << "the binding passed it on";
  EXPECT_EQ(sumac_profile_way_of(none, 0, SUMAC_COLL_BCAST, 8), SUMAC_WAY_PASS) << "nobody counted it";
  EXPECT_EQ(sumac_profile_way_of(none, 0, SUMAC_COLL_BARRIER, 0), SUMAC_WAY_PASS);
  EXPECT_EQ(sumac_profile_way_of(none, 0, SUMAC_COLL_BCAST, 0), SUMAC_PROFILE_NO_DATA);
}

}  // namespace
}  // namespace sumac::rank
