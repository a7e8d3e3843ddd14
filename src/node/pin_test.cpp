#include "node/pin.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace sumac::node {
namespace {

TEST(Pin, reads_lists_of_processors) {
  const struct {
    const char* text;
    bool is_legal;
    std::vector<int> processors;
  } rows[] = {
      {"", true, {}},      {"2", true, {2}},       {"0,4-7", true, {0, 4, 5, 6, 7}},
      {"3-3", true, {3}},  {"5,1", true, {5, 1}},  {"2-1", false, {}},
      {"a", false, {}},    {"1,", false, {}},      {",1", false, {}},
      {"-1", false, {}},   {"1-", false, {}},      {"1 2", false, {}},
      {"1024", false, {}}, {"0-1023x", false, {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const auto read = parse_processors(row.text);
    ASSERT_EQ(read.has_value(), row.is_legal);
    if (read) {
      EXPECT_EQ(*read, row.processors);
    } else {
      EXPECT_NE(read.error().context.find(row.text), std::string::npos) << read.error().context;
    }
  }
}

TEST(Pin, a_thread_stays_where_it_is_put_and_shards_take_turns) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  std::vector<int> legal;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &before)) legal.push_back(processor);
  for (std::size_t shard = 0; shard < 2 * legal.size() && shard < 4; ++shard) {
    std::thread([&] {
      ASSERT_TRUE(pin_this_thread(legal, shard));
      EXPECT_EQ(::sched_getcpu(), legal[shard % legal.size()]);
    }).join();
  }
  EXPECT_TRUE(pin_this_thread({}, 0));
  cpu_set_t after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "only the thread that asked";
}

TEST(Pin, a_processor_that_is_not_there_is_an_error_with_its_number) {
  std::thread([] {
    const auto pinned = pin_this_thread({1023}, 0);
    if (!pinned) {
      EXPECT_NE(pinned.error().context.find("1023"), std::string::npos) << pinned.error().context;
    }
    EXPECT_EQ(pinned.has_value(), ::sched_getcpu() == 1023);
  }).join();
}

}  // namespace
}  // namespace sumac::node
