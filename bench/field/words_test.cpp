// Both command lines of sumac-bench, and its table of collectives.
#define OMPI_SKIP_MPICXX 1
#include "bench/field/words.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "bench/field/imb.h"
#include "bench/field/osu.h"
#include "bench/field/overhead.h"
#include "bench/field/rows.h"

namespace {

std::vector<char*> argv_of(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (auto& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::string osu_error(std::vector<std::string> words, field_osu_command* command) {
  char error[512] = "";
  auto argv = argv_of(words);
  return field_osu_parse(argv[0], static_cast<int>(words.size()), argv.data(), command, error, sizeof error) == 0
             ? ""
             : error;
}

std::string imb_error(std::vector<std::string> words, field_imb_command* command) {
  char error[512] = "";
  auto argv = argv_of(words);
  return field_imb_parse(argv[0], static_cast<int>(words.size()), argv.data(), command, error, sizeof error) == 0
             ? ""
             : error;
}

TEST(FieldWords, Sizes) {
  const struct {
    const char* text;
    int status;
    std::size_t least, most;
  } rows[] = {
      {"8:1M", 0, 8, 1 << 20},      {":2048", 0, 1, 2048},
      {"64:", 0, 64, 1 << 16},      {"128", 0, 1, 128},
      {"2K:64KiB", 0, 2048, 65536}, {"1G", 0, 1, 1UL << 30},
      {"2G", -1, 1, 1 << 16},       {"", -1, 1, 1 << 16},
      {"9:8", -1, 1, 1 << 16},      {"8:9:10", -1, 1, 1 << 16},
      {"-4", -1, 1, 1 << 16},       {"x:8", -1, 1, 1 << 16},
      {"0:8", -1, 1, 1 << 16},      {"0", -1, 1, 1 << 16},
      {"8 :9", -1, 1, 1 << 16},     {"11111111111111111111111111111111111:", -1, 1, 1 << 16},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    std::size_t least = 1, most = 1 << 16;
    EXPECT_EQ(field_parse_sizes(row.text, &least, &most), row.status);
    EXPECT_EQ(least, row.least);
    EXPECT_EQ(most, row.most);
  }
}

TEST(FieldWords, Exponents) {
  int least = 0, most = 22;
  EXPECT_EQ(field_parse_exponents("3:5", &least, &most), 0);
  EXPECT_EQ(least * 100 + most, 305);
  EXPECT_EQ(field_parse_exponents("30", &least, &most), 0);
  for (const char* wrong : {"31", "5:3", "a", "3:", ":", "-1:3"})
    EXPECT_EQ(field_parse_exponents(wrong, &least, &most), -1) << wrong;
}

TEST(FieldWords, OsuDefaultsAndOptions) {
  field_osu_command command;
  ASSERT_EQ(osu_error({"osu_iallreduce", "-f", "-c", "-i", "7", "-x", "0", "-t", "3"}, &command), "");
  EXPECT_TRUE(command.is_nonblocking && command.is_full && command.is_checked);
  EXPECT_EQ(command.bytes_min, 4U);  // a float
  EXPECT_EQ(command.iterations + command.iterations_large, 14);
  EXPECT_EQ(command.warmup + command.warmup_large, 0);
  EXPECT_EQ(command.tests, 3);
  ASSERT_EQ(osu_error({"osu_bcast", "--message-size", "16:32", "--iterations=3"}, &command), "");
  EXPECT_EQ(command.bytes_min + command.bytes_max, 48U);
  EXPECT_EQ(command.iterations, 3);
  ASSERT_EQ(osu_error({"osu_bcast"}, &command), "");
  EXPECT_EQ(command.bytes_min, 1U);
  EXPECT_EQ(command.iterations_large, 100);
  EXPECT_NE(osu_error({"osu_allreduce", "-m", "2"}, &command).find("one element of 4 bytes"), std::string::npos);
}

TEST(FieldWords, MessagesBetweenTwoRanksHaveIterationsOfTheirOwn) {
  const struct {
    const char* name;
    std::size_t least;
    long iterations, iterations_large, warmup, warmup_large;
  } rows[] = {{"osu_latency", 0, 10000, 1000, 100, 10}, {"osu_bw", 1, 100, 20, 10, 2}, {"osu_bibw", 1, 100, 20, 10, 2}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    field_osu_command command;
    ASSERT_EQ(osu_error({row.name}, &command), "");
    ASSERT_TRUE(command.pair != nullptr && command.kind == nullptr);
    EXPECT_EQ(command.bytes_min, row.least);
    EXPECT_EQ(command.bytes_max, std::size_t{4} << 20);
    EXPECT_EQ(command.window, 64);
    EXPECT_TRUE(command.iterations == row.iterations && command.iterations_large == row.iterations_large);
    EXPECT_TRUE(command.warmup == row.warmup && command.warmup_large == row.warmup_large);
  }
  field_osu_command command;
  ASSERT_EQ(osu_error({"osu_latency", "-m", ":16"}, &command), "");
  EXPECT_EQ(command.bytes_min, 0U);
}

std::string overhead_error(std::vector<std::string> words, field_overhead_command* command) {
  char error[512] = "";
  words.insert(words.begin(), "mpi_overhead");
  auto argv = argv_of(words);
  return field_overhead_parse(static_cast<int>(words.size()), argv.data(), command, error, sizeof error) == 0 ? ""
                                                                                                              : error;
}

TEST(FieldWords, ProcessorTimeOfAMessage) {
  field_overhead_command command;
  ASSERT_EQ(overhead_error({}, &command), "");
  EXPECT_TRUE(command.size == 8 && command.iterations == 0 && command.threshold == 1.5 &&
              command.base_threshold == 1.02);
  ASSERT_EQ(overhead_error({"--recv", "--msgsize=64", "-i", "7", "-t", "2", "--nohdr", "-v"}, &command), "");
  EXPECT_TRUE(command.receives && command.has_no_head && command.is_verbose);
  EXPECT_TRUE(command.size == 64 && command.iterations == 7 && command.threshold == 2);
  const struct {
    std::vector<std::string> words;
    const char* error;
  } rows[] = {{{"-t", "1"}, "mpi_overhead: -t 1: give a ratio above 1, to 1000"},
              {{"-b", "x"}, "mpi_overhead: -b x: give a ratio above 1, to 1000"},
              {{"-i", "0"}, "mpi_overhead: -i 0: give a number from 1 on"},
              {{"-m"}, "mpi_overhead: -m needs a value: see `sumac bench mpi_overhead -h`"},
              {{"-z"}, "mpi_overhead: -z is no option: see `sumac bench mpi_overhead -h`"},
              {{"8"}, "mpi_overhead: 8 is no option: see `sumac bench mpi_overhead -h`"}};
  for (const auto& row : rows) EXPECT_EQ(overhead_error(row.words, &command), row.error);
  const auto result = field_overhead_of(9, 6, 4);
  EXPECT_EQ(result.overhead, 3);
  EXPECT_EQ(result.available, 25);
}

TEST(FieldWords, WrongWordsAreNamedWithWhatIsAllowed) {
  const struct {
    std::vector<std::string> words;
    const char* error;
  } rows[] = {
      {{"osu_bcast", "-zf"}, "osu_bcast: no option -z: see `sumac bench osu_bcast -h`"},
      {{"osu_bcast", "--full", "-zzz"}, "osu_bcast: no option -z: see `sumac bench osu_bcast -h`"},
      {{"osu_bcast", "-fz"}, "osu_bcast: no option -z: see `sumac bench osu_bcast -h`"},
      {{"osu_bcast", "--fast"}, "osu_bcast: no option --fast: see `sumac bench osu_bcast -h`"},
      {{"osu_bcast", "--full=3"}, "osu_bcast: --full=3 takes no value: see `sumac bench osu_bcast -h`"},
      {{"osu_bcast", "-fi"}, "osu_bcast: -i needs a value: see `sumac bench osu_bcast -h`"},
      {{"osu_bcast", "--iterations"}, "osu_bcast: --iterations needs a value: see `sumac bench osu_bcast -h`"},
      {{"osu_bcast", "now"}, "osu_bcast: now is no option: see `sumac bench osu_bcast -h`"},
      {{"osu_bcast", "-i", "99999999999"}, "osu_bcast: -i 99999999999: give a whole number from 1 to 1000000000"},
      {{"osu_bcast", "-x", "none"}, "osu_bcast: -x none: give a whole number from 0 to 1000000000"},
      {{"osu_bcast", "-m", "0:8"}, "osu_bcast: -m 0:8: give sizes such as 8, 4:64K or 1M, from 1 to 1G"},
      {{"osu_bcast", "-W", "3"}, "osu_bcast: no option -W: see `sumac bench osu_bcast -h`"},
      {{"osu_bcast", "--window-size", "3"}, "osu_bcast: no option --window-size: see `sumac bench osu_bcast -h`"},
      {{"osu_bw", "-f"}, "osu_bw: no option -f: see `sumac bench osu_bw -h`"},
      {{"osu_latency", "-W", "3"}, "osu_latency: no option -W: see `sumac bench osu_latency -h`"},
      {{"osu_bw", "-W", "4097"}, "osu_bw: -W 4097: give a whole number from 1 to 4096"},
      {{"osu_bw", "-m", "0:8"}, "osu_bw: -m 0:8: give sizes such as 8, 4:64K or 1M, from 1 to 1G"},
      {{"osu_latency", "-m", "9:8"}, "osu_latency: -m 9:8: give sizes such as 8, 4:64K or 1M, from 0 to 1G"},
      {{"IMB-MPI1", "-iter", "0"}, "IMB-MPI1: -iter 0: give N or N,MB, whole numbers from 1 to 1000000000"},
      {{"IMB-MPI1", "-iter", "5,1,x"}, "IMB-MPI1: -iter 5,1,x: give N or N,MB, whole numbers from 1 to 1000000000"},
      {{"IMB-MPI1", "-iter", "5,1,2,3"}, "IMB-MPI1: -iter 5,1,2,3: give N or N,MB, whole numbers from 1 to 1000000000"},
      {{"IMB-MPI1", "-npmin", "0"}, "IMB-MPI1: -npmin 0: give a whole number from 1 to 1000000000"},
      {{"IMB-MPI1", "-time", "0"}, "IMB-MPI1: -time 0: give seconds above 0, at most 1000000"},
      {{"IMB-MPI1", "-mem", "nan"}, "IMB-MPI1: -mem nan: give gigabytes above 0, at most 1000000"},
      {{"IMB-MPI1", "-msglog", "31"}, "IMB-MPI1: -msglog 31: give MAX or MIN:MAX, exponents of 2 from 0 to 30"},
      {{"IMB-MPI1", "-msglog"}, "IMB-MPI1: -msglog needs a value: give MAX or MIN:MAX, exponents of 2 from 0 to 30"},
      {{"IMB-NBC", "-fast"}, "IMB-NBC: no option -fast: see `sumac bench IMB-NBC -help`"},
  };
  for (const auto& row : rows) {
    field_osu_command osu;
    field_imb_command imb;
    EXPECT_EQ(row.words[0].starts_with("osu_") ? osu_error(row.words, &osu) : imb_error(row.words, &imb), row.error);
  }
}

TEST(FieldWords, SizesOfSumsAreWholeFloats) {
  const struct {
    const char *name, *sizes;
    std::size_t least;
  } rows[] = {
      {"osu_allreduce", "7:7", 4},      {"osu_reduce", "9:64", 8},
      {"osu_iallreduce", "4:7", 4},     {"osu_ireduce_scatter_block", "1023:4K", 1020},
      {"osu_reduce_scatter", "2:8", 4}, {"osu_bcast", "7:7", 7},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    field_osu_command command;
    ASSERT_EQ(osu_error({row.name, "-m", row.sizes}, &command), "");
    EXPECT_EQ(command.bytes_min, row.least);
  }
}

TEST(FieldWords, IntelsBenchmarks) {
  field_imb_command command;
  ASSERT_EQ(imb_error({"IMB-NBC", "ibcast_PURE,Iallreduce", "-iter", "20,8,3", "-npmin", "4"}, &command), "");
  ASSERT_EQ(command.count, 2);
  EXPECT_STREQ(command.benchmarks[0].name, "Ibcast_pure");
  EXPECT_TRUE(command.benchmarks[0].is_pure);
  EXPECT_STREQ(command.benchmarks[1].name, "Iallreduce");
  EXPECT_EQ(command.iterations * 100 + command.volume_mb, 2008);
  EXPECT_EQ(command.ranks_min, 4);
  ASSERT_EQ(imb_error({"IMB-MPI1"}, &command), "");
  EXPECT_EQ(command.count, kFieldKinds);
  ASSERT_EQ(imb_error({"IMB-NBC"}, &command), "");
  EXPECT_EQ(command.count, 2 * kFieldKinds);
  for (const char* wrong : {"-npmin", "Ibcast"}) EXPECT_NE(imb_error({"IMB-MPI1", wrong}, &command), "") << wrong;
}

TEST(FieldWords, NamesJoinedByCommas) {
  field_imb_command all, command;
  ASSERT_EQ(imb_error({"IMB-NBC"}, &all), "");
  std::string names;
  for (const auto& one : all.benchmarks) names += (names.empty() ? "" : ",") + std::string(one.name);
  ASSERT_GT(names.size(), 255U);
  ASSERT_EQ(imb_error({"IMB-NBC", names}, &command), "");
  ASSERT_EQ(command.count, all.count);
  for (int i = 0; i < command.count; ++i) EXPECT_STREQ(command.benchmarks[i].name, all.benchmarks[i].name);
  const struct {
    const char* name;
    std::vector<std::string> words;
    const char* part;
  } rows[] = {
      {"an empty name between others", {"Allreduce,,Bcast"}, "\"Allreduce,,Bcast\" has an empty name"},
      {"an empty name at the end", {"Allreduce,"}, "\"Allreduce,\" has an empty name"},
      {"an empty word", {""}, "\"\" has an empty name"},
      {"one of several is unknown", {"Allreduce,PingPong,Bcast"}, "no benchmark PingPong: known are Allreduce, "},
      {"the unknown one is very long", {std::string(3000, 'x')}, "xxx: known are Allreduce, "},
      {"a name twice in a word", {"Bcast,bcast"}, "Bcast is named twice"},
      {"a name twice in two words", {"Bcast", "Allreduce", "Bcast"}, "Bcast is named twice"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto words = row.words;
    words.insert(words.begin(), "IMB-MPI1");
    const auto error = imb_error(words, &command);
    EXPECT_NE(error.find(row.part), std::string::npos) << error;
  }
}

TEST(FieldKinds, EveryNameIsFoundAsWhatItIs) {
  for (const auto& kind : kFieldTable) {
    SCOPED_TRACE(kind.name);
    int nonblocking = 1, pure = 1;
    EXPECT_EQ(field_find_osu((std::string("osu_") + kind.name).c_str(), &nonblocking), &kind);
    EXPECT_EQ(nonblocking, 0);
    EXPECT_EQ(field_find_osu((std::string("osu_i") + kind.name).c_str(), &nonblocking), &kind);
    EXPECT_EQ(nonblocking, 1);
    EXPECT_EQ(field_find_imb(kind.imb, 0, &pure), &kind);
    EXPECT_EQ(pure, 0);
    EXPECT_EQ(field_find_imb((std::string("I") + kind.imb + "_pure").c_str(), 1, &pure), &kind);
    EXPECT_EQ(pure, 1);
  }
  int unused;
  for (const char* none : {"osu_", "osu_latency", "allreduce", "osu_iiallreduce"})
    EXPECT_EQ(field_find_osu(none, &unused), nullptr);
  for (const auto& pair : kFieldPairTable) EXPECT_EQ(field_find_pair(pair.name), &pair);
  EXPECT_EQ(field_find_pair("osu_bcast"), nullptr);
  EXPECT_EQ(field_find_imb("Allreduce_pure", 0, &unused), nullptr);
  EXPECT_EQ(field_find_imb("Allreduce", 1, &unused), nullptr);
}

TEST(FieldData, TheLargestDisplacement) {
  constexpr std::size_t kGigabyte = std::size_t{1} << 30, kLimit = INT_MAX;
  const struct {
    const char* imb;
    std::size_t bytes;
    int ranks;
    std::size_t most;
  } rows[] = {
      {"Scatterv", kGigabyte, 2, kGigabyte}, {"Scatterv", kGigabyte, 3, kLimit + 1},
      {"Gatherv", kGigabyte, 3, kLimit + 1}, {"Allgatherv", kGigabyte, 3, kLimit + 1},
      {"Alltoallv", kLimit, 2, kLimit},      {"Alltoallv", 1 << 20, 5, 4 << 20},
      {"Alltoall", kGigabyte, 64, 0},        {"Reduce_scatter", kGigabyte, 64, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.imb);
    int unused;
    EXPECT_EQ(field_data_start_max(field_find_imb(row.imb, 0, &unused), row.bytes, row.ranks), row.most);
  }
}

// `sumac bench --compare` tells tables apart by this name.
TEST(FieldRows, EveryFormOfACollectiveHasAName) {
  field_times times = {};
  double median = 0;
  field_result result = {};
  result.ranks = result.iterations = 1;
  result.of_rank = &times;
  result.pure_of_iteration = &median;
  const struct {
    int overlaps, is_pure;
    const char* name;
  } rows[] = {{0, 0, "allreduce"}, {1, 0, "iallreduce"}, {0, 1, "iallreduce_pure"}};
  for (const auto& row : rows) {
    int unused;
    field_cell cell = {};
    cell.kind = field_find_imb("Allreduce", 0, &unused);
    cell.overlaps = row.overlaps;
    cell.is_pure = row.is_pure;
    testing::internal::CaptureStdout();
    field_print_json(&cell, &result);
    const auto line = testing::internal::GetCapturedStdout();
    EXPECT_EQ(line.find(std::string("{\"benchmark\":\"") + row.name + "\","), 0U) << line;
  }
}

}  // namespace
