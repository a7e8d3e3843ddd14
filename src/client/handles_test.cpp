// Handles that are used after their end, made up, or of another kind are invalid, even after the slot has a new owner.
#include "client/handles.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "client/memory_registry.hpp"

namespace sumac::client {
namespace {

struct Opaque;
struct Thing {
  int number = 0;
};
using Table = HandleTable<Thing, Opaque, HandleKind::comm>;

TEST(Handles, OneThatEndedIsNobodysForEver) {
  auto table = std::make_unique<Table>();
  Thing first{1}, second{2};
  std::set<Opaque*> seen;
  Opaque* old = table->put(&first);
  for (int round = 0; round < 1000; ++round) {  // The slot is reused each time.
    Opaque* handle = table->put(&second);
    ASSERT_TRUE(seen.insert(handle).second);
    EXPECT_EQ(table->find(handle), &second);
    EXPECT_EQ(table->find(old), &first);
    table->remove(handle);
    EXPECT_EQ(table->find(handle), nullptr);
    table->remove(handle);  // A second call changes nothing.
  }
  EXPECT_EQ(table->find(old), &first);
}

TEST(Handles, WhatIsNoneIsNotFollowed) {
  auto table = std::make_unique<Table>();
  Thing thing;
  const auto word = reinterpret_cast<std::uint64_t>(table->put(&thing));
  const auto as_handle = [](std::uint64_t value) { return reinterpret_cast<Opaque*>(value); };
  EXPECT_EQ(table->find(nullptr), nullptr);
  EXPECT_EQ(table->find(reinterpret_cast<Opaque*>(&thing)), nullptr);
  EXPECT_EQ(table->find(as_handle(0xEEEEEEEEEEEEEEEEu)), nullptr);
  EXPECT_EQ(table->find(as_handle(word + 1)), nullptr) << "another slot";
  EXPECT_EQ(table->find(as_handle(word + (1ull << 32))), nullptr) << "another generation";
  EXPECT_EQ(table->find(as_handle(word ^ (1ull << 28))), nullptr) << "another kind";
}

TEST(Handles, AContextTakesItsCommunicatorsAlong) {
  auto table = std::make_unique<Table>();
  std::vector<Thing> things(200);
  std::vector<Opaque*> handles;
  for (auto& thing : things)
    thing.number = static_cast<int>(&thing - things.data()), handles.push_back(table->put(&thing));
  table->remove_if([](const Thing& thing) { return thing.number % 2 == 0; });
  for (std::size_t i = 0; i < things.size(); ++i) EXPECT_EQ(table->find(handles[i]), i % 2 == 0 ? nullptr : &things[i]);
}

TEST(Registry, SaysWhatAHandleIs) {
  constexpr std::uint64_t kMine = 7, kOther = 8;
  void* host = register_memory(kMine, MemoryKind::host);
  void* cuda = register_memory(kMine, MemoryKind::cuda);
  EXPECT_NE(host, nullptr);
  EXPECT_EQ(find_registration(host), Registration::host);
  EXPECT_EQ(find_registration(cuda), Registration::cuda);
  EXPECT_EQ(find_registration(nullptr), Registration::none);
  EXPECT_EQ(find_registration(&host), Registration::none) << "garbage, as some callers leave it";
  EXPECT_FALSE(deregister_memory(kOther, host)) << "another context's";
  EXPECT_TRUE(deregister_memory(kMine, host));
  EXPECT_FALSE(deregister_memory(kMine, host)) << "twice";
  EXPECT_EQ(find_registration(host), Registration::gone);
  void* next = register_memory(kMine, MemoryKind::cuda);  // In the slot of the first.
  EXPECT_NE(next, host);
  EXPECT_EQ(find_registration(host), Registration::gone);
  EXPECT_FALSE(deregister_memory(kMine, host));
  void* others = register_memory(kOther, MemoryKind::host);
  deregister_all(kMine);
  EXPECT_EQ(find_registration(cuda), Registration::gone);
  EXPECT_EQ(find_registration(next), Registration::gone);
  EXPECT_EQ(find_registration(others), Registration::host);
  EXPECT_TRUE(deregister_memory(kOther, others));
}

TEST(Registry, AnyNumberAlsoBeyondTheTable) {
  constexpr std::uint64_t kMine = 9;
  std::vector<void*> handles;
  for (int i = 0; i < (1 << 18) + 100; ++i) {
    handles.push_back(register_memory(kMine, MemoryKind::host));
    ASSERT_NE(handles.back(), nullptr);
    ASSERT_EQ(find_registration(handles.back()), Registration::host);
  }
  EXPECT_EQ(register_memory(kMine, MemoryKind::cuda), nullptr) << "what it is could not be remembered";
  for (void* handle : handles) ASSERT_TRUE(deregister_memory(kMine, handle));
}

TEST(Registry, ThreadsNeverGetTheSameHandle) {
  std::vector<std::set<void*>> seen(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < seen.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20'000; ++i) {
        void* handle = register_memory(t + 1, MemoryKind::host);
        EXPECT_TRUE(seen[t].insert(handle).second);
        EXPECT_TRUE(deregister_memory(t + 1, handle));
      }
    });
  for (auto& thread : threads) thread.join();
  std::set<void*> all;
  for (auto& some : seen) all.merge(some);
  EXPECT_EQ(all.size(), 80'000u);
}

}  // namespace
}  // namespace sumac::client
