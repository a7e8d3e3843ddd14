// The ranks are threads, and each pair of them has a queue of messages.
#include "rank/binomial.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

class Network {
 public:
  void put(int from, int to, std::string message) {
    const std::lock_guard guard(lock_);
    pairs_.insert({std::min(from, to), std::max(from, to)});
    queues_[{from, to}].push_back(std::move(message));
    arrived_.notify_all();
  }
  std::string take(int from, int to) {
    std::unique_lock guard(lock_);
    auto& queue = queues_[{from, to}];
    arrived_.wait(guard, [&] { return !queue.empty(); });
    auto message = std::move(queue.front());
    queue.pop_front();
    return message;
  }
  std::size_t pairs() const { return pairs_.size(); }

 private:
  std::mutex lock_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<std::string>> queues_;
  std::set<std::pair<int, int>> pairs_;  ///< Those between which a message went.
};

struct Rank {
  Network& network;
  int rank;
};

sumac_messages messages_of(Rank& rank, int size) {
  return {.context = &rank,
          .rank = rank.rank,
          .size = size,
          .send =
              [](void* context, const void* buffer, int bytes, int peer) {
                auto& self = *static_cast<Rank*>(context);
                self.network.put(self.rank, peer, {static_cast<const char*>(buffer), static_cast<std::size_t>(bytes)});
                return 0;
              },
          .receive =
              [](void* context, void* buffer, int bytes, int peer) {
                auto& self = *static_cast<Rank*>(context);
                const auto message = self.network.take(peer, self.rank);
                if (message.size() != static_cast<std::size_t>(bytes)) return 77;
                std::memcpy(buffer, message.data(), message.size());
                return 0;
              }};
}

TEST(Binomial, GathersInRankOrderAndSpreadsAlongTheSamePairs) {
  constexpr int kBytes = 3;
  for (const int size : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33}) {
    SCOPED_TRACE(size);
    Network network;
    const auto letter = [](int rank) { return static_cast<char>('A' + rank); };
    std::string wanted;
    for (int rank = 0; rank < size; ++rank) wanted += std::string(kBytes, letter(rank));
    std::vector<std::string> got(static_cast<std::size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        Rank self{network, rank};
        const auto ranks = messages_of(self, size);
        const std::string mine(kBytes, letter(rank));
        std::string all(static_cast<std::size_t>(size * kBytes), '?');
        EXPECT_EQ(sumac_binomial_gather(&ranks, mine.data(), rank == 0 ? all.data() : nullptr, kBytes), 0);
        EXPECT_EQ(sumac_binomial_bcast(&ranks, all.data(), size * kBytes), 0);
        got[static_cast<std::size_t>(rank)] = all;
      });
    for (auto& thread : threads) thread.join();
    for (const auto& each : got) EXPECT_EQ(each, wanted);
    EXPECT_EQ(network.pairs(), static_cast<std::size_t>(size - 1));
  }
}

TEST(Binomial, ReturnsTheCodeOfAFailedMessage) {
  const sumac_messages ranks{.context = nullptr,
                             .rank = 0,
                             .size = 4,
                             .send = [](void*, const void*, int, int) { return 5; },
                             .receive = [](void*, void*, int, int) { return 6; }};
  char bytes[4] = {};
  EXPECT_EQ(sumac_binomial_bcast(&ranks, bytes, 1), 5);
  EXPECT_EQ(sumac_binomial_gather(&ranks, bytes, bytes, 1), 6);
}

}  // namespace
