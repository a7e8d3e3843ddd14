#include "rank/trace.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "rank/profile.h"

namespace sumac::rank {
namespace {

using nlohmann::json;

constexpr TraceProcess kProcess{
    .rank = 3, .pid = 77, .host = "node7", .next = "MPI", .zero_ns = 1000, .wall_end_ns = 9'000'500};

json written(Trace& trace) {
  std::string text;
  trace.write(kProcess, [&](std::string_view piece) { text += piece; });
  return json::parse(text);
}

TraceEvent event(std::int64_t start_ns, std::int64_t ns, std::uint16_t thread = 0) {
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
  Trace trace(10);
  EXPECT_EQ(trace.name("MPI_COMM_WORLD"), 0);
  const auto one = event(3501, 1042);
  trace.add(one);
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
}

TEST(Trace, a_full_ring_keeps_the_last_events_and_counts_the_others) {
  Trace trace(1000);
  for (int i = 0; i < 2500; ++i) {
    const auto one = event(1000 * i, 10);
    trace.add(one);
  }
  EXPECT_EQ(trace.dropped(), 1500u);
  const auto file = written(trace);
  EXPECT_EQ(file["otherData"]["dropped_events"], 1500);
  EXPECT_EQ(file["otherData"]["events"], 1000);
  const auto found = calls(file);
  ASSERT_EQ(found.size(), 1000u);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i]["ts"], 1500 + static_cast<double>(i) - 1);
}

TEST(Trace, events_of_several_threads_are_sorted_by_their_beginning) {
  Trace trace(10);
  for (const auto& one : {event(5000, 10, 1), event(2000, 9000, 0), event(3000, 10, 1)}) trace.add(one);
  const auto file = written(trace);
  const auto found = calls(file);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0]["ts"], 1.0);
  EXPECT_EQ(found[1]["ts"], 2.0);
  EXPECT_EQ(found[2]["ts"], 4.0);
  int thread_names = 0;
  for (const auto& each : file["traceEvents"]) thread_names += each["name"] == "thread_name" ? 1 : 0;
  EXPECT_EQ(thread_names, 2);
}

TEST(Trace, any_bytes_in_a_name_give_legal_json) {
  Trace trace(10);
  (void)trace.name("a\"b\\c\n\xff");
  const auto one = event(0, 0);
  trace.add(one);
  EXPECT_EQ(calls(written(trace))[0]["args"]["communicator"], "a\"b\\c\n\u00ff");
}

TEST(Trace, names_are_kept_once_and_there_is_an_end_to_them) {
  Trace trace(10);
  EXPECT_EQ(trace.name(""), 0);
  for (int i = 1; i < int{Trace::kNamesMax}; ++i) ASSERT_EQ(trace.name(std::to_string(i)), i);
  EXPECT_EQ(trace.name("one more"), int{Trace::kNamesMax});
  EXPECT_EQ(trace.name("7"), 7);
  auto one = event(0, 0);
  trace.add(one);
  one.communicator = Trace::kNamesMax;
  trace.add(one);
  const auto found = calls(written(trace));
  EXPECT_EQ(found[0]["args"]["communicator"], "without a name");
  EXPECT_EQ(found[1]["args"]["communicator"], "another communicator");
}

TEST(Trace, an_empty_one_is_a_legal_file) {
  Trace trace(10);
  const auto file = written(trace);
  EXPECT_TRUE(calls(file).empty());
  EXPECT_EQ(file["otherData"]["events"], 0);
}

}  // namespace
}  // namespace sumac::rank
