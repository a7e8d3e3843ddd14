#pragma once
// For tests over the real transport: the members of a group as threads of one process, connected over loopback.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <mutex>
#include <thread>

#include "p2p/group.hpp"

#ifndef SUMAC_TEST_BACKEND
#define SUMAC_TEST_BACKEND "tcp"
#endif

namespace sumac::p2p::test {

/// UCX stays in the process that has loaded it, so each transport has a program of its own.
inline constexpr std::string_view kBackend = SUMAC_TEST_BACKEND;

/// An exchange through memory that all threads share.
class Meeting {
 public:
  explicit Meeting(std::uint32_t size) : blobs_(size), barrier_(static_cast<std::ptrdiff_t>(size)) {}
  void wait() { barrier_.arrive_and_wait(); }
  Result<std::vector<std::byte>> exchange(std::uint32_t rank, std::span<const std::byte> mine) {
    blobs_[rank].assign(mine.begin(), mine.end());
    barrier_.arrive_and_wait();
    std::vector<std::byte> all;
    for (const auto& blob : blobs_) all.insert(all.end(), blob.begin(), blob.end());
    return all;
  }

 private:
  std::vector<std::vector<std::byte>> blobs_;
  std::barrier<> barrier_;
};

inline GroupConfig config_of(Meeting& meeting, std::uint32_t rank, std::uint32_t size) {
  GroupConfig config{.rank = rank, .size = size};
  config.exchange = [&meeting, rank](std::span<const std::byte> mine) { return meeting.exchange(rank, mine); };
  config.transport.backend = kBackend;
  config.transport.listen = "127.0.0.1:0";
  if (kBackend == "ucx") config.transport.device = "lo";
  config.host_name = fmt::format("h{}", rank);
  return config;
}

/// Runs `body` as each member, and returns when all have returned.
inline void each_member(std::uint32_t size, const std::function<void(Group&, std::uint32_t)>& body,
                        const std::function<void(GroupConfig&)>& change = {}) {
  Meeting meeting(size);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      GroupConfig config = config_of(meeting, rank, size);
      if (change) change(config);
      auto group = Group::make(std::move(config));
      // A member that begins its body, and perhaps breaks the group there, must not meet others in make().
      meeting.wait();
      ASSERT_TRUE(group) << group.error().context;
      body(**group, rank);
    });
  for (auto& thread : threads) thread.join();
}

/// Changes the key in an exchanged blob of rank 0.
inline void spoil_key(std::vector<std::byte>& blobs) {
  const auto members = read_introductions(blobs, 2);
  const auto key = std::as_bytes(std::span(members->key));
  const auto found = std::search(blobs.begin(), blobs.end(), key.begin(), key.end());
  *found ^= std::byte{1};
}
inline std::string address_of(std::span<const std::byte> blobs, std::uint32_t rank) {
  return read_introductions(blobs, 2)->addresses[rank];
}

inline coll::Across::Progress finish(Group& group, coll::Across::Progress progress, void* request) {
  return progress == coll::Across::Progress::pending ? group.wait(request) : progress;
}

inline coll::Across::Progress run(Group& group, const coll::Operation& operation) {
  void* request = nullptr;
  const auto progress = group.start(operation, request);
  return finish(group, progress, request);
}

}  // namespace sumac::p2p::test
