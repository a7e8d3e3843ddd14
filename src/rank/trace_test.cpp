#include "rank/trace.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "rank/profile_table.h"

namespace {

using nlohmann::json;

constexpr sumac_trace_process kProcess{
    .rank = 3, .pid = 77, .host = "node7", .next = "MPI", .zero_ns = 1000, .wall_end_ns = 9'000'500};

json written(sumac_trace& trace, const sumac_trace_process& process = kProcess) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* out = open_memstream(&text, &bytes);
  sumac_trace_write(&trace, &process, out);
  std::fclose(out);
  json parsed = json::parse(std::string(text, bytes));
  std::free(text);
  return parsed;
}

sumac_trace_event event(std::int64_t start_ns, std::int64_t ns, std::uint16_t thread = 0) {
  return {.start_ns = start_ns,
          .ns = ns,
          .bytes = 8,
          .communicator = 0,
          .thread = thread,
          .coll = SUMAC_COLL_ALLREDUCE,
          .form = SUMAC_FORM_NONBLOCKING,
          .way = SUMAC_WAY_HOST};
}

std::vector<json> calls(const json& file) {
  std::vector<json> found;
  for (const auto& each : file["traceEvents"])
    if (each["ph"] == "X") found.push_back(each);
  return found;
}

TEST(Trace, an_event_has_microseconds_and_the_facts_of_its_call) {
  sumac_trace trace{};
  trace.events_max = 10;
  EXPECT_EQ(sumac_trace_name(&trace, "MPI_COMM_WORLD"), 0);
  const auto one = event(3501, 1042);
  sumac_trace_add(&trace, &one);
  const auto file = written(trace);
  const auto found = calls(file);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], (json{{"ph", "X"},
                            {"cat", "collective"},
                            {"name", "iallreduce"},
                            {"pid", 3},
                            {"tid", 0},
                            {"ts", 2.501},
                            {"dur", 1.042},
                            {"args", {{"bytes", 8}, {"way", "shared memory"}, {"communicator", "MPI_COMM_WORLD"}}}}));
  EXPECT_EQ(file["otherData"]["rank"], 3);
  EXPECT_EQ(file["otherData"]["dropped_events"], 0);
  EXPECT_EQ(file["otherData"]["finalize_us"], 8999.5);
  EXPECT_EQ(file["traceEvents"][0]["args"]["name"], "rank 3 on node7");
  sumac_trace_free(&trace);
}

TEST(Trace, a_full_ring_keeps_the_last_events_and_counts_the_others) {
  sumac_trace trace{};
  trace.events_max = 1000;
  for (int i = 0; i < 2500; ++i) {
    const auto one = event(1000 * i, 10);
    sumac_trace_add(&trace, &one);
  }
  EXPECT_EQ(sumac_trace_dropped(&trace), 1500u);
  EXPECT_LE(trace.room, 1000u);
  const auto file = written(trace);
  EXPECT_EQ(file["otherData"]["dropped_events"], 1500);
  EXPECT_EQ(file["otherData"]["events"], 1000);
  const auto found = calls(file);
  ASSERT_EQ(found.size(), 1000u);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i]["ts"], 1500 + static_cast<double>(i) - 1);
  sumac_trace_free(&trace);
}

TEST(Trace, events_of_several_threads_are_sorted_by_their_beginning) {
  sumac_trace trace{};
  trace.events_max = 10;
  for (const auto& one : {event(5000, 10, 1), event(2000, 9000, 0), event(3000, 10, 1)}) sumac_trace_add(&trace, &one);
  const auto file = written(trace);
  const auto found = calls(file);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0]["ts"], 1.0);
  EXPECT_EQ(found[1]["ts"], 2.0);
  EXPECT_EQ(found[2]["ts"], 4.0);
  int thread_names = 0;
  for (const auto& each : file["traceEvents"]) thread_names += each["name"] == "thread_name" ? 1 : 0;
  EXPECT_EQ(thread_names, 2);
  sumac_trace_free(&trace);
}

TEST(Trace, any_bytes_in_a_name_give_legal_json) {
  sumac_trace trace{};
  trace.events_max = 10;
  (void)sumac_trace_name(&trace, "a\"b\\c\n\xff");
  const auto one = event(0, 0);
  sumac_trace_add(&trace, &one);
  EXPECT_EQ(calls(written(trace))[0]["args"]["communicator"], "a\"b\\c\n\u00ff");
  sumac_trace_free(&trace);
}

TEST(Trace, names_are_kept_once_and_there_is_an_end_to_them) {
  sumac_trace trace{};
  trace.events_max = 10;
  EXPECT_EQ(sumac_trace_name(&trace, ""), 0);
  for (int i = 1; i < SUMAC_TRACE_NAMES_MAX; ++i) ASSERT_EQ(sumac_trace_name(&trace, std::to_string(i).c_str()), i);
  EXPECT_EQ(sumac_trace_name(&trace, "one more"), SUMAC_TRACE_NAMES_MAX);
  EXPECT_EQ(sumac_trace_name(&trace, "7"), 7);
  auto one = event(0, 0);
  sumac_trace_add(&trace, &one);
  one.communicator = SUMAC_TRACE_NAMES_MAX;
  sumac_trace_add(&trace, &one);
  const auto found = calls(written(trace));
  EXPECT_EQ(found[0]["args"]["communicator"], "without a name");
  EXPECT_EQ(found[1]["args"]["communicator"], "another communicator");
  sumac_trace_free(&trace);
}

TEST(Trace, an_empty_one_is_a_legal_file) {
  sumac_trace trace{};
  trace.events_max = 10;
  const auto file = written(trace);
  EXPECT_TRUE(calls(file).empty());
  EXPECT_EQ(file["otherData"]["events"], 0);
}

}  // namespace
