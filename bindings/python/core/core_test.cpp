// The ranks are threads of this process, over a store in memory.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <latch>
#include <map>
#include <numeric>
#include <thread>

#include "base/types.hpp"
#include "bindings/python/core/team.hpp"
#include "rank/local_job.hpp"
#include "rank/words.hpp"
#include "team/call_log.hpp"

namespace sumac::python {
namespace {

class MemoryStore : public Store {
 public:
  Result<> set(const std::string& key, const Bytes& value) override {
    const std::lock_guard guard(lock_);
    values_[key] = value;
    changed_.notify_all();
    return {};
  }
  Result<std::optional<Bytes>> get(const std::string& key, Duration at_most) override {
    std::unique_lock guard(lock_);
    if (!changed_.wait_for(guard, at_most, [&] { return values_.contains(key); })) return std::nullopt;
    return values_[key];
  }

  /// A stranger who may read the store reads this.
  std::map<std::string, Bytes> values() {
    const std::lock_guard guard(lock_);
    return values_;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::map<std::string, Bytes> values_;
};

std::mutex lines_lock;
std::vector<std::string> lines;
void keep_line(const std::string& line) {
  const std::lock_guard guard(lines_lock);
  lines.push_back(line);
}

/// Runs `body` as each rank; returns what each returned. "" is success.
std::vector<std::string> as_ranks(int size, const std::function<std::string(Team&)>& body, TeamSettings settings = {}) {
  MemoryStore store;
  std::vector<std::string> texts(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  lines.clear();
  settings.say = keep_line;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      auto team = Team::make(store, rank, size, settings);
      texts[static_cast<std::size_t>(rank)] = team ? body(**team) : team.error().context;
    });
  for (auto& thread : threads) thread.join();
  return texts;
}

const std::vector<std::string> kAllWell3(3, "");

struct Sum {
  sumac_fold_t fold{};
  std::vector<float> values;
  Request request;

  explicit Sum(std::size_t count, int rank) : values(count, static_cast<float>(rank + 1)) {
    EXPECT_EQ(sumac_fold_standard(&fold, static_cast<int>(Dtype::float32), static_cast<int>(Op::sum),
                                  static_cast<int>(Dtype::null)),
              SUMAC_TEAM_OK);
    request.call.coll = SUMAC_COLL_ALLREDUCE;
    request.call.out = values.data();
    request.call.bytes = count * sizeof(float);
    request.call.fold = &fold;
  }
  bool is_right(int size) const {
    const auto sum = static_cast<float>(size * (size + 1) / 2);
    return std::all_of(values.begin(), values.end(), [&](float value) { return value == sum; });
  }
};

TEST(Exchange, GivesEachRankWhatItMayHave) {
  MemoryStore store;
  const int size = 4;
  std::vector<std::string> faults(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      StoreExchange exchange(store, rank, size);
      const auto says = [&](const std::string& what, bool is_right) {
        if (!is_right) faults[static_cast<std::size_t>(rank)] += what + " ";
      };
      const auto own = bytes_of_text(std::string(static_cast<std::size_t>(rank), 'x'));
      for (int root = 0; root < size; ++root) {
        says("bcast", exchange.bcast(root, own).value().size() == static_cast<std::size_t>(root));
        const auto all = exchange.gather(root, own).value();
        says("gather", all.size() == (rank == root ? 4u : 0u) && (rank != root || all[3].size() == 3));
      }
      // Two of the ranks among themselves, while the others go on.
      const auto some = exchange.among({1, 3});
      if (rank % 2 == 1) {
        const auto all = some->allgather(own).value();
        says("among", all.size() == 2 && all[0].size() == 1 && all[1].size() == 3);
      }
      says("allgather", exchange.allgather(own).value()[2].size() == 2);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(faults, std::vector<std::string>(size));
}

/// Runs `body` as some of the ranks of an exchange; returns what each returned.
std::map<int, std::string> as_some(const std::vector<int>& come, int size, Duration within,
                                   const std::function<std::string(StoreExchange&)>& body, MemoryStore& store) {
  std::mutex lock;
  std::map<int, std::string> texts;
  std::vector<std::thread> threads;
  for (const int rank : come)
    threads.emplace_back([&, rank] {
      StoreExchange exchange(store, rank, size, within);
      const std::string text = body(exchange);
      const std::lock_guard guard(lock);
      texts[rank] = text;
    });
  for (auto& thread : threads) thread.join();
  return texts;
}

std::map<int, std::string> as_some(const std::vector<int>& come, int size, Duration within,
                                   const std::function<std::string(StoreExchange&)>& body) {
  MemoryStore store;
  return as_some(come, size, within, body, store);
}

TEST(Exchange, EndsForAllRanksWhenOneGivesUp) {
  // Rank 1 fails before the exchange that the others are in, and goes on with later ones: it has fallen out of step.
  const auto texts = as_some({0, 1, 2}, 3, Seconds{60}, [](StoreExchange& exchange) -> std::string {
    if (!exchange.allgather({})) return "the first one failed";
    if (exchange.rank() == 1) {
      (void)exchange.give_up({Errc::invalid, "its variable is wrong"});
      (void)exchange.give_up({Errc::lost, "a later reason"});
    }
    const auto first = exchange.allgather({});
    const auto second = exchange.bcast(0, {});
    const auto some = exchange.among({0, 1});
    const auto third = some->gather(0, {});
    if (first || second || third || exchange.check()) return "it went on";
    if (first.error().code != Errc::invalid) return "another kind of error";
    return second.error().context == first.error().context && third.error().context == first.error().context
               ? first.error().context
               : "another reason";
  });
  EXPECT_EQ(texts.at(1), "its variable is wrong");
  for (const int rank : {0, 2}) {
    EXPECT_TRUE(texts.at(rank).starts_with("rank 1 (host ")) << texts.at(rank);
    EXPECT_TRUE(texts.at(rank).ends_with("): its variable is wrong")) << texts.at(rank);
  }
}

TEST(Exchange, NamesRanksThatDoNotComeAndWaitsOnlyOnce) {
  const auto texts = as_some({0, 3}, 4, Millis{60}, [](StoreExchange& exchange) -> std::string {
    const auto first = exchange.allgather({});
    const Time began = monotonic_now();
    for (int i = 0; i < 1000; ++i)
      if (exchange.allgather({})) return "it went on";
    if (monotonic_now() - began >= Seconds{30}) return "it waited again";  // A thousand limits are 60 s.
    return first ? "they came" : first.error().context;
  });
  for (const auto& [rank, text] : texts)
    EXPECT_NE(text.find("waiting for ranks 1, 2 to join: not there within 60 ms"), std::string::npos) << text;
}

/// Each rank's, as long as a key of a group.
std::string secret_of(int rank) { return fmt::format("the secret of {:03}", rank); }

std::string exchange_secrets(StoreExchange& exchange) {
  if (auto agreed = exchange.agree_on_key(); !agreed) return agreed.error().context;
  const auto all = exchange.allgather(bytes_of_text(secret_of(exchange.rank())));
  if (!all) return all.error().context;
  for (int rank = 0; rank < exchange.size(); ++rank)
    if (text_of((*all)[static_cast<std::size_t>(rank)]) != secret_of(rank)) return "another value";
  return "";
}

TEST(Exchange, WhoReadsTheStoreLearnsNothingAfterTheRanksHaveAgreedOnAKey) {
  MemoryStore store;
  const auto texts = as_some({0, 1, 2}, 3, Seconds{60}, exchange_secrets, store);
  for (const auto& [rank, text] : texts) EXPECT_EQ(text, "") << rank;
  const auto values = store.values();
  EXPECT_EQ(values.size(), 3u + 1u + 3u) << "public keys, the sealed key, values";
  for (const auto& [name, value] : values)
    EXPECT_EQ(text_of(value).find("secret of"), std::string::npos) << name << ": " << text_of(value);
}

/// Changes one bit of each value whose name ends so.
class ChangingStore final : public MemoryStore {
 public:
  explicit ChangingStore(std::string which) : which_(std::move(which)) {}
  Result<> set(const std::string& key, const Bytes& value) override {
    Bytes changed = value;
    if (key.ends_with(which_) && !changed.empty()) changed.back() ^= 1;
    return MemoryStore::set(key, changed);
  }

 private:
  std::string which_;
};

TEST(Exchange, AValueThatSomebodyElseChangedIsRefused) {
  const struct {
    const char *name, *text;
  } rows[] = {{"sumac/1/0", "rank 0 gave this rank no key"},
              {"sumac/2/1", "the store's value of rank 1 is not what that rank wrote"}};
  for (const auto& row : rows) {
    ChangingStore store(row.name);
    const auto texts = as_some({0, 1, 2}, 3, Seconds{60}, exchange_secrets, store);
    EXPECT_NE(texts.at(2).find(row.text), std::string::npos) << row.name << ": " << texts.at(2);
  }
}

TEST(Words, OfOthersAreMadePrintableAndCut) {
  EXPECT_EQ(printable("caf\xc3\xa9 \x1b[31m\xff"), "caf\xc3\xa9 ?[31m?");
  EXPECT_EQ(printable(std::string(1 << 20, '\xff')), std::string(4096, '?') + "...");
}

TEST(Team, RunsAndPostsInTheOrderOfCalls) {
  const auto texts = as_ranks(3, [](Team& team) -> std::string {
    for (const std::size_t count : {1u, 100u, 20000u, 300000u}) {
      Sum first(count, team.rank()), second(count, team.rank()), third(count, team.rank());
      const auto a = team.post(first.request, nullptr);
      const auto b = team.post(second.request, nullptr);
      if (auto ran = team.run(third.request); !ran) return ran.error().context;
      if (!a->is_done() || !b->is_done()) return "a blocking call overtook a posted one";
      if (!first.is_right(3) || !second.is_right(3) || !third.is_right(3)) return "wrong sum";
    }
    return "";
  });
  EXPECT_EQ(texts, kAllWell3);
}

TEST(Team, TheHelperThreadAloneMovesWhatIsPosted) {
  const auto texts = as_ranks(3, [](Team& team) -> std::string {
    std::vector<std::unique_ptr<Sum>> sums;
    std::mutex lock;
    std::condition_variable changed;
    int done = 0;
    for (int i = 0; i < 100; ++i) {
      sums.push_back(std::make_unique<Sum>(1000, team.rank()));
      team.post(sums.back()->request, [&](const Error*) {
        const std::lock_guard guard(lock);
        ++done;
        changed.notify_one();
      });
    }
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return done == 100; });
    for (const auto& sum : sums)
      if (!sum->is_right(3)) return "wrong sum";
    return "";
  });
  EXPECT_EQ(texts, kAllWell3);
}

TEST(Team, ComparesEachOfManyPostedOperations) {
  std::latch posted(2);
  const auto texts = as_ranks(2, [&](Team& team) -> std::string {
    if (team.rank() == 1) posted.arrive_and_wait();
    std::vector<std::unique_ptr<Sum>> sums;
    std::vector<std::shared_ptr<Ticket>> tickets;
    // More than the call log has entries. The first one differs.
    for (std::size_t i = 0; i < 2 * team::CallRing::kEntries; ++i) {
      sums.push_back(std::make_unique<Sum>(i == 0 && team.rank() == 1 ? 3 : 4, team.rank()));
      tickets.push_back(team.post(sums.back()->request, nullptr));
    }
    if (team.rank() == 0) posted.arrive_and_wait();
    for (const auto& ticket : tickets)
      if (auto waited = team.wait(*ticket, Duration::max()); !waited) return waited.error().context;
    return "";
  });
  for (const auto& text : texts) EXPECT_NE(text.find("the ranks differ: operation 1 is"), std::string::npos) << text;
}

TEST(Team, ARankThatComesLateFailsAsThoseThatGaveUp) {
  std::latch over(2);
  const auto texts = as_ranks(2, [&](Team& team) -> std::string {
    if (team.rank() == 1) over.arrive_and_wait();
    Sum sum(1, team.rank());
    if (team.rank() == 0) sum.request.limit = Millis{50};
    const auto ran = team.run(sum.request);
    if (team.rank() == 0) over.arrive_and_wait();
    return ran ? "" : ran.error().context;
  });
  for (const auto& text : texts) EXPECT_NE(text.find("timed out after 50 ms at rank 0"), std::string::npos) << text;
}

TEST(Team, NamesRanksThatDiffer) {
  for (const std::size_t count : {2u, 40000u}) {
    const auto texts = as_ranks(3, [&](Team& team) -> std::string {
      Sum sum(team.rank() == 1 ? count : count + 2, team.rank());
      const auto ran = team.run(sum.request);
      return ran ? "it ran" : ran.error().context;
    });
    for (const auto& text : texts) {
      EXPECT_NE(text.find("the ranks differ: operation 1 is allreduce"), std::string::npos) << text;
      EXPECT_NE(text.find(fmt::format("{} B, float32, sum", count * 4)), std::string::npos) << text;
    }
  }
}

TEST(Team, NamesTheRankThatDoesNotCome) {
  for (const bool blocking : {true, false})
    for (const std::size_t count : {2u, 40000u}) {
      std::mutex gone_lock;
      std::condition_variable gone;
      bool has_gone = false;
      const auto texts = as_ranks(3,
                                  [&](Team& team) -> std::string {
                                    Sum sum(count, team.rank());
                                    sum.request.limit = team.rank() == 0 ? Millis{60} : Millis{600000};
                                    if (team.rank() == 2) {
                                      // It comes once it is late: the team is broken here as well.
                                      std::unique_lock guard(gone_lock);
                                      gone.wait(guard, [&] { return has_gone; });
                                      // A small one may still come to its end here, since the others have given their parts.
                                      auto ran = team.run(sum.request);
                                      if (ran) ran = team.run(sum.request);
                                      return ran ? "it ran" : ran.error().context;
                                    }
                                    const auto once = [&] {
                                      return blocking ? team.run(sum.request)
                                                      : team.wait(*team.post(sum.request, nullptr), Duration::max());
                                    };
                                    auto ran = once();
                                    if (ran && team.rank() == 1)
                                      ran = once();  // The late rank may have come before this one looked.
                                    const std::lock_guard guard(gone_lock);
                                    has_gone = true;
                                    gone.notify_all();
                                    return ran ? "it ran" : ran.error().context;
                                  },
                                  {.name = "g", .slow_after = Millis{20}});
      for (const auto& text : texts) {
        EXPECT_NE(text.find("timed out after 60 ms at rank 0: rank 2 (host "), std::string::npos) << text;
        EXPECT_NE(text.find("has not begun it"), std::string::npos) << text;
      }
      EXPECT_GE(lines.size(), 1u);
      EXPECT_NE(lines.front().find("s in allreduce of"), std::string::npos) << lines.front();
    }
}

TEST(Team, MessagesFindTheirReceivers) {
  const auto texts = as_ranks(3, [](Team& team) -> std::string {
    // Each rank sends to each other one, large messages first, and receives them in another order, by tag.
    std::vector<std::vector<int>> out, in;
    std::vector<std::shared_ptr<p2p::Message>> messages;
    for (int to = 0; to < 3; ++to) {
      if (to == team.rank()) continue;
      for (const std::uint32_t tag : {1u, 2u, 3u}) {
        out.emplace_back(tag == 1 ? 300000 : 5 * (tag - 2), team.rank() * 10 + static_cast<int>(tag));
        messages.push_back(
            team.send(to, tag, out.back().data(), out.back().size() * sizeof(int), Seconds{60}, nullptr));
      }
    }
    for (int from = 0; from < 3; ++from) {
      if (from == team.rank()) continue;
      for (const std::uint32_t tag : {3u, 2u, 1u}) {
        in.emplace_back(tag == 1 ? 300000 : 5 * (tag - 2), 0);
        const auto message =
            team.receive(from, tag, in.back().data(), in.back().size() * sizeof(int), Seconds{60}, nullptr);
        if (auto waited = team.wait(*message, Duration::max()); !waited) return waited.error().context;
        for (const int value : in.back())
          if (value != from * 10 + static_cast<int>(tag)) return "wrong bytes";
      }
    }
    for (const auto& message : messages)
      if (auto waited = team.wait(*message, Duration::max()); !waited) return waited.error().context;
    return "";
  });
  EXPECT_EQ(texts, kAllWell3);
}

TEST(Team, AMessageThatNobodySendsEndsAtItsLimitAndTheNextOneComes) {
  const auto texts = as_ranks(2, [](Team& team) -> std::string {
    int value = 7, got = 0;
    Sum meeting(1, team.rank());
    if (team.rank() == 0) {
      const auto never = team.receive(1, 5, &got, sizeof got, Millis{30}, nullptr);
      const auto waited = team.wait(*never, Duration::max());
      if (waited || waited.error().code != Errc::timeout) return "no timeout";
      if (waited.error().context.find("rank 1 (host ") == std::string::npos) return waited.error().context;
    }
    if (auto ran = team.run(meeting.request); !ran) return ran.error().context;
    if (team.rank() == 1) {
      const auto sent = team.send(0, 5, &value, sizeof value, Seconds{60}, nullptr);
      const auto waited = team.wait(*sent, Duration::max());
      return waited ? "" : waited.error().context;
    }
    const auto message = team.receive(p2p::Message::kAnyone, 5, &got, sizeof got, Seconds{60}, nullptr);
    if (auto waited = team.wait(*message, Duration::max()); !waited) return waited.error().context;
    return got == 7 && message->peer == 1 ? "" : "wrong message";
  });
  EXPECT_EQ(texts, std::vector<std::string>(2, ""));
}

TEST(Team, AMessageOfAnotherSizeIsNamedAndTheNextOneComes) {
  const auto texts = as_ranks(2, [](Team& team) -> std::string {
    std::vector<int> data(50000, 3);
    if (team.rank() == 0) {
      for (int i = 0; i < 2; ++i)
        if (auto w =
                team.wait(*team.send(1, 0, data.data(), i == 0 ? 200000 : 8, Seconds{60}, nullptr), Duration::max());
            !w)
          return w.error().context;
      return "";
    }
    const auto wrong = team.wait(*team.receive(0, 0, data.data(), 100, Seconds{60}, nullptr), Duration::max());
    if (wrong || wrong.error().context.find("has 200000 B and the receiver's buffer 100 B") == std::string::npos)
      return "no error";
    const auto right = team.wait(*team.receive(0, 0, data.data(), 8, Seconds{60}, nullptr), Duration::max());
    return right ? "" : right.error().context;
  });
  EXPECT_EQ(texts, std::vector<std::string>(2, ""));
}

TEST(Team, OfOneGivesWhatItGets) {
  const auto texts = as_ranks(1, [](Team& team) -> std::string {
    Sum sum(5, 3);
    if (auto ran = team.run(sum.request); !ran) return ran.error().context;
    return sum.values == std::vector<float>(5, 4.0F) ? "" : "changed";
  });
  EXPECT_EQ(texts, std::vector<std::string>(1, ""));
}

TEST(Team, ThatIsClosedFailsWhatIsPostedAndTellsTheOthers) {
  const auto texts = as_ranks(2, [](Team& team) -> std::string {
    Sum sum(1, team.rank());
    if (team.rank() == 1) {
      // Rank 0 never comes to the second operation.
      if (auto ran = team.run(sum.request); !ran) return ran.error().context;
      Sum next(1, 1);
      const auto ran = team.run(next.request);
      return ran ? "it ran" : ran.error().context;
    }
    if (auto ran = team.run(sum.request); !ran) return ran.error().context;
    Sum barrier(7, 0);
    barrier.request.call.coll = SUMAC_COLL_REDUCE;
    (void)team.post(barrier.request, nullptr);
    team.close();
    const auto ran = team.run(sum.request);
    return ran ? "it ran" : ran.error().context;
  });
  EXPECT_EQ(texts[0], "the process group was closed");
  EXPECT_FALSE(texts[1].empty());
}

/// Somebody who writes the store puts another path wherever a rank names its shared memory.
class WrongPathStore final : public Store {
 public:
  explicit WrongPathStore(std::string path) : path_(std::move(path)) {}
  Result<> set(const std::string& key, const Bytes& value) override {
    const auto text = text_of(value);
    const auto at = std::min(text.find(" /proc/"), text.find(" /dev/shm/"));
    return store_.set(key, at != text.npos ? bytes_of_text(text.substr(0, at + 1) + path_) : value);
  }
  Result<std::optional<Bytes>> get(const std::string& key, Duration at_most) override {
    return store_.get(key, at_most);
  }

 private:
  MemoryStore store_;
  std::string path_;
};

TEST(Block, AFileThatTheStoreNamesIsNotWritten) {
  const auto path = testing::TempDir() + "/sumac-secret-" + std::to_string(::getpid());
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  ASSERT_EQ(::ftruncate(file.get(), 256 << 20), 0);  // As large as any block, and all zeros.
  for (const auto& named : {path, fmt::format("/proc/{}/fd/{}", ::getpid(), file.get())}) {
    WrongPathStore store(named);
    std::vector<std::thread> ranks;
    std::vector<std::string> why(2);
    for (int rank = 0; rank < 2; ++rank)
      ranks.emplace_back([&, rank] {
        auto team = Team::make(store, rank, 2, {});
        why[static_cast<std::size_t>(rank)] = team ? "" : team.error().context;
      });
    for (auto& rank : ranks) rank.join();
    for (const auto& text : why)
      EXPECT_NE(text.find("no shared memory between the ranks of a host"), text.npos) << text;
    struct stat info {};
    ASSERT_EQ(::fstat(file.get(), &info), 0);
    EXPECT_EQ(info.st_blocks, 0) << "somebody has written into " << named;
  }
  ::unlink(path.c_str());
}

TEST(LocalJob, AHostAsksForItsOwnCertificatesOnly) {
  const std::string text =
      "csr/host-b.csr 1\ncsr/host-a.csr 2\ncsr/node-node-a.csr 3\ncsr/node-node-b.csr 4\nnodes 9\naddress x\ngo\n";
  EXPECT_EQ(rank::requests_of(text, "b", false), "csr/host-b.csr 1\n");
  EXPECT_EQ(rank::requests_of(text, "a", true), "csr/host-a.csr 2\ncsr/node-node-a.csr 3\n");
}

}  // namespace
}  // namespace sumac::python
