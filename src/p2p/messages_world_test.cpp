// Messages in the seeded world, beside operations: every message comes whole and in the order of its sender and tag, to one
// receiver; a member that dies or leaves ends the messages with it; memory that was withdrawn is not touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "p2p/test_exercise.hpp"
#include "p2p/test_seeds.hpp"
#include "p2p/test_world.hpp"

namespace sumac::p2p {
namespace {

using test::each_seed;
using test::Exercise;
using test::World;

constexpr std::uint32_t kAnyone = UINT32_MAX;
/// The messages of one tag have one size: none, short, the longest that goes unasked and the first that does not, one
/// part, several parts. The last tag is received from anyone.
constexpr std::uint64_t kSizes[] = {0, 8, 184, 185, 1000, 3500, 40};
constexpr std::uint32_t kTags = std::size(kSizes), kAnyTag = kTags - 1;
constexpr std::byte kNobodys{0xEE};

std::byte byte_of(std::uint32_t from, std::uint32_t id, std::size_t at) {
  return at == 0  ? static_cast<std::byte>(from)
         : at < 3 ? static_cast<std::byte>(id >> (at == 1 ? 8 : 0))
                  : static_cast<std::byte>(from * 31 + id * 7 + at);
}

/// Keeps the messages that a member sends and receives, and how they ended. It decides who gets a message as a user does.
class Matcher final : public MessageEvents {
 public:
  struct Message {
    std::uint32_t peer = 0, tag = 0;
    std::vector<std::byte> data;
    bool sends = false, is_over = false, has_failed = false, is_withdrawn = false;
  };
  struct Kept {
    std::uint32_t tag = 0;
    std::vector<std::byte> bytes;
    std::optional<std::uint32_t> offer;
    std::uint64_t size = 0;
  };

  explicit Matcher(std::uint32_t size) : kept_(size), last_(size) {}

  void send(Messages& messages, std::uint32_t me, std::uint32_t peer, std::uint32_t tag, std::uint32_t id) {
    Message& message = all_.emplace_back(Message{peer, tag, std::vector<std::byte>(kSizes[tag]), true});
    for (std::size_t i = 0; i < message.data.size(); ++i) message.data[i] = byte_of(me, id, i);
    if (!messages.post(peer, tag, message.data, &message)) message.is_over = message.has_failed = true;
  }

  void receive(Messages& messages, std::uint32_t peer, std::uint32_t tag, std::uint64_t bytes) {
    Message& message = all_.emplace_back(Message{peer, tag, std::vector<std::byte>(bytes, kNobodys), false});
    for (std::uint32_t from = 0; from < kept_.size(); ++from) {
      if (peer != kAnyone && peer != from) continue;
      const auto at = std::ranges::find(kept_[from], tag, &Kept::tag);
      if (at == kept_[from].end()) continue;
      Kept kept = std::move(*at);
      kept_[from].erase(at);
      if (!kept.offer) {
        give(message, from, kept.bytes);
        messages.release(from);
      } else if (kept.size != message.data.size()) {
        message.is_over = message.has_failed = true;
        messages.drop(from, *kept.offer);
      } else if (!messages.take(from, *kept.offer, message.data.data(), &message)) {
        message.is_over = message.has_failed = true;
      } else {
        message.peer = from;
      }
      return;
    }
    wanted_.push_back(&message);
    if (peer != kAnyone && has_left_[peer]) end_with(peer);
  }

  /// A member that waits lets those go on that wait behind messages for others.
  void extend(Messages& messages) {
    for (std::uint32_t peer = 0; peer < kept_.size(); ++peer) {
      const bool is_wanted = std::ranges::any_of(
          wanted_, [&](const Message* message) { return message->peer == peer || message->peer == kAnyone; });
      if (is_wanted && messages.is_stuck(peer)) messages.extend(peer);
    }
  }

  /// Takes the memory of one that is not over away.
  void withdraw(Messages& messages, std::uint64_t which) {
    std::vector<Message*> open;
    for (Message& message : all_)
      if (!message.is_over) open.push_back(&message);
    if (open.empty()) return;
    Message& message = *open[which % open.size()];
    if (std::erase(wanted_, &message) == 0 && !messages.withdraw(&message)) fault = "a message under way is not known";
    message.is_over = message.is_withdrawn = true;
    std::ranges::fill(message.data, kNobodys);
  }

  bool is_over() const {
    return std::ranges::all_of(all_, [](const Message& message) { return message.is_over; });
  }
  std::deque<Message>& all() { return all_; }
  /// Memory that was taken away is as it was.
  std::string judge() const {
    for (const Message& message : all_)
      if (message.is_withdrawn && std::ranges::any_of(message.data, [](std::byte one) { return one != kNobodys; }))
        return "memory was written after it was withdrawn";
    return fault;
  }
  std::size_t kept_bytes() const {
    std::size_t bytes = 0;
    for (const auto& list : kept_)
      for (const Kept& kept : list) bytes += kept.bytes.size();
    return bytes;
  }
  std::size_t kept_count() const {
    std::size_t count = 0;
    for (const auto& list : kept_) count += list.size();
    return count;
  }

  std::string fault, failed;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> notes;  ///< The key is sender and word.

 private:
  bool on_arrived(std::uint32_t from, std::uint32_t tag, std::span<const std::byte> bytes) override {
    if (Message* message = claim(from, tag)) {
      give(*message, from, bytes);
      return true;
    }
    kept_[from].push_back({tag, {bytes.begin(), bytes.end()}, std::nullopt, bytes.size()});
    return false;
  }
  Answer on_offer(std::uint32_t from, std::uint32_t number, std::uint32_t tag, std::uint64_t bytes) override {
    Message* message = claim(from, tag);
    if (message == nullptr) {
      kept_[from].push_back({tag, {}, number, bytes});
      return {};
    }
    if (message->data.size() != bytes) {
      message->is_over = message->has_failed = true;
      return {.what = Answer::What::drop};
    }
    message->peer = from;
    return {Answer::What::take, message->data.data(), message};
  }
  void on_received(void* cookie) override { check(*static_cast<Message*>(cookie)); }
  void on_sent(void* cookie) override {
    auto& message = *static_cast<Message*>(cookie);
    if (message.is_over) fault = "a message is sent twice";
    message.is_over = true;
    std::ranges::fill(message.data, kNobodys);  // The memory is the user's again.
  }
  void on_note(std::uint32_t from, std::uint32_t word, std::uint32_t number) override { notes[{from, word}] = number; }
  void on_left(std::uint32_t peer) override { has_left_[peer] = true, end_with(peer); }
  void on_failed(const Error& why) override {
    failed = why.context;
    for (Message& message : all_)
      if (!message.is_over) message.is_over = message.has_failed = true;
    wanted_.clear();
  }

  void end_with(std::uint32_t peer) {
    for (Message& message : all_)
      if (!message.is_over && message.peer == peer) message.is_over = message.has_failed = true;
    std::erase_if(wanted_, [](const Message* message) { return message->is_over; });
    std::erase_if(kept_[peer], [](const Kept& kept) { return kept.offer.has_value(); });
  }
  Message* claim(std::uint32_t from, std::uint32_t tag) {
    const auto at = std::ranges::find_if(wanted_, [&](const Message* message) {
      return message->tag == tag && (message->peer == from || message->peer == kAnyone);
    });
    if (at == wanted_.end()) return nullptr;
    Message* message = *at;
    wanted_.erase(at);
    return message;
  }
  void give(Message& message, std::uint32_t from, std::span<const std::byte> bytes) {
    message.peer = from;
    if (bytes.size() != message.data.size()) {
      message.is_over = message.has_failed = true;
      return;
    }
    std::ranges::copy(bytes, message.data.begin());
    check(message);
  }
  void check(Message& message) {
    if (message.is_over) fault = "a message is received twice, or behind its end";
    message.is_over = true;
    const auto& data = message.data;
    if (data.empty()) return;
    if (std::to_integer<std::uint32_t>(data[0]) != message.peer) fault = "a message of somebody else";
    const auto id = std::to_integer<std::uint32_t>(data[1]) << 8 | std::to_integer<std::uint32_t>(data[2]);
    for (std::size_t i = 0; i < data.size(); ++i)
      if (data[i] != byte_of(message.peer, id, i)) fault = fmt::format("byte {} of a message is wrong", i);
    std::uint32_t& last = last_[message.peer][message.tag];
    if (id <= last) fault = fmt::format("message {} came behind {}", id, last);
    last = id;
  }

  std::deque<Message> all_;
  std::vector<Message*> wanted_;
  std::vector<std::deque<Kept>> kept_;
  std::vector<std::map<std::uint32_t, std::uint32_t>> last_;  ///< The latest message received, by sender and tag.
  std::map<std::uint32_t, bool> has_left_;
};

struct Trouble {
  bool kills = false, leaves = false, withdraws = false, has_wrong_sizes = false;
};

class Game {
 public:
  Game(std::uint64_t seed, std::uint32_t size, Trouble trouble)
      : trouble_(trouble), matchers_(size, Matcher(size)), world_(seed, plan(size)), players_(size) {
    auto& random = world_.random;
    for (std::uint32_t from = 0; from < size; ++from)
      for (std::uint32_t to = 0; to < size; ++to) {
        if (from == to) continue;
        const auto count = random.below(seed % 5 == 0 ? 300 : 30);  // The first is more than one window.
        for (std::uint32_t i = 0; i < count; ++i) {
          const auto tag = static_cast<std::uint32_t>(random.below(kTags));
          players_[from].sends.push_back({to, tag, i + 1});
          players_[to].receives.push_back({tag == kAnyTag ? kAnyone : from, tag, 0});
        }
      }
    for (Player& player : players_) {
      // The order between receivers is one of the sender's choice; the receives may have any.
      for (std::size_t i = player.receives.size(); i > 1; --i)
        std::swap(player.receives[i - 1], player.receives[random.below(i)]);
      player.request.resize(kOperations);
    }
    for (std::uint32_t k = 0; k < kOperations; ++k) exercises_.emplace_back(seed * 100 + k, size, k == 1 ? 20000 : 300);
    for (std::uint32_t r = 0; r < size; ++r)
      for (const Exercise& exercise : exercises_) {
        players_[r].data.push_back(exercise.make(r));
        exercise.aim(r, players_[r].data.back());
      }
    culprit_ = static_cast<std::uint32_t>(random.below(size));
  }

  std::string play() {
    const Time end = at(Seconds{20});
    while (world_.now < end && !is_over()) {
      bool moved = false;
      for (std::uint32_t r = 0; r < world_.size(); ++r) moved = move(r) || moved;
      if (moved) continue;
      Time next = end;
      for (std::uint32_t r = 0; r < world_.size(); ++r)
        if (!is_gone(r)) next = std::min({next, world_[r].engine->next_due(), players_[r].acts_at});
      if (!world_.step(next))
        for (std::uint32_t r = 0; r < world_.size(); ++r)
          if (!world_[r].is_dead) world_[r].engine->settle(world_.now);
    }
    return judge();
  }
  Matcher& matcher(std::uint32_t rank) { return matchers_[rank]; }
  std::uint32_t culprit() const { return culprit_; }

 private:
  static constexpr std::uint32_t kOperations = 3;
  struct Act {
    std::uint32_t peer, tag, id;
  };
  struct Player {
    std::vector<Act> sends, receives;
    std::size_t sent = 0, received = 0, started = 0, flying = 0, acts = 0;
    std::vector<Exercise::Mine> data;
    std::vector<void*> request;
    Time acts_at{};
    bool has_left = false;
    std::string fault;
  };

  World::Plan plan(std::uint32_t size) {
    World::Plan plan{.size = size};
    for (Matcher& matcher : matchers_) plan.messages.push_back(&matcher);
    return plan;
  }
  bool is_gone(std::uint32_t r) { return world_[r].is_dead || players_[r].has_left; }
  bool has_done(std::uint32_t r) {
    const Player& player = players_[r];
    return player.acts_at == kNever && player.flying == 0 && matchers_[r].is_over();
  }
  bool is_over() {
    for (std::uint32_t r = 0; r < world_.size(); ++r)
      if (!is_gone(r) && !has_done(r)) return false;
    return true;
  }

  bool move(std::uint32_t r) {
    if (is_gone(r)) return false;
    Player& player = players_[r];
    Engine& engine = *world_[r].engine;
    bool moved = false;
    for (std::uint32_t k = 0; k < kOperations; ++k) {
      if (player.request[k] == nullptr) continue;
      const auto progress = engine.test(player.request[k]);
      if (progress == Engine::Progress::pending) continue;
      end(r, k, progress);
      moved = true;
    }
    matchers_[r].extend(*engine.messages());
    if (world_.now < player.acts_at) return moved;
    act(r);
    return true;
  }

  void act(std::uint32_t r) {
    Player& player = players_[r];
    Engine& engine = *world_[r].engine;
    auto& random = world_.random;
    player.acts_at = world_.now + Duration(random.below(300'000));
    if (engine.failure()) {
      player.acts_at = kNever;
      return;
    }
    ++player.acts;
    if (r == culprit_ && player.acts > 40 && trouble_.kills) return world_.kill(r);
    if (r == culprit_ && player.acts > 40 && trouble_.leaves) {
      // As at the end of a program: it ends its messages, operations and the group.
      if (player.flying == 0) engine.messages()->close(), player.has_left = engine.leave();
      return;
    }
    if (trouble_.withdraws && random.below(5) == 0) matchers_[r].withdraw(*engine.messages(), random.next());
    switch (random.below(3)) {
      case 0:
        if (player.sent < player.sends.size()) {
          const Act& next = player.sends[player.sent++];
          matchers_[r].send(*engine.messages(), r, next.peer, next.tag, next.id);
        }
        break;
      case 1:
        if (player.received < player.receives.size()) {
          const Act& next = player.receives[player.received++];
          const bool is_wrong = trouble_.has_wrong_sizes && random.below(6) == 0;
          matchers_[r].receive(*engine.messages(), next.peer, next.tag, kSizes[next.tag] + (is_wrong ? 1 : 0));
        }
        break;
      default:
        // Operations that lack a member would only fail.
        if (player.started < kOperations && !trouble_.leaves && random.below(10) == 0) {
          const auto k = static_cast<std::uint32_t>(player.started++);
          ++player.flying;
          const auto progress =
              engine.start(player.data[k].operation, exercises_[k].algorithm, player.request[k], world_.now);
          if (progress != Engine::Progress::pending) end(r, k, progress);
        }
        engine.messages()->note((r + 1) % world_.size(), 3, static_cast<std::uint32_t>(player.acts));
    }
    if (player.sent == player.sends.size() && player.received == player.receives.size() &&
        (player.started == kOperations || trouble_.leaves) && !(r == culprit_ && (trouble_.kills || trouble_.leaves)))
      player.acts_at = kNever;
  }

  void end(std::uint32_t r, std::uint32_t k, Engine::Progress progress) {
    Player& player = players_[r];
    player.request[k] = nullptr;
    --player.flying;
    if (progress == Engine::Progress::done && player.fault.empty())
      player.fault = exercises_[k].check(r, player.data[k]);
  }

  std::string judge() {
    for (std::uint32_t r = 0; r < world_.size(); ++r) {
      if (auto fault = matchers_[r].judge(); !fault.empty()) return fmt::format("rank {}: {}", r, fault);
      if (!players_[r].fault.empty()) return players_[r].fault;
      if (is_gone(r) || trouble_.withdraws) continue;
      if (!has_done(r)) return fmt::format("rank {} hangs", r);
      const bool is_alone = !trouble_.kills && !trouble_.leaves && !trouble_.has_wrong_sizes;
      for (const auto& message : matchers_[r].all()) {
        if (message.has_failed && is_alone) return fmt::format("rank {}: a message failed: {}", r, matchers_[r].failed);
        if (message.has_failed && trouble_.leaves && message.peer != culprit_ && message.peer != kAnyone)
          return fmt::format("rank {}: a message with {} failed, and rank {} left", r, message.peer, culprit_);
      }
      if (trouble_.kills && matchers_[r].failed.find(fmt::format("rank {} is lost", culprit_)) == std::string::npos &&
          !matchers_[r].failed.empty())
        return matchers_[r].failed;
    }
    return "";
  }

  Trouble trouble_;
  std::vector<Matcher> matchers_;
  World world_;
  std::vector<Player> players_;
  std::vector<Exercise> exercises_;
  std::uint32_t culprit_ = 0;
};

std::uint32_t size_of(std::uint64_t seed) { return 2 + static_cast<std::uint32_t>(seed % 4); }

TEST(MessagesWorld, EachComesWholeAndInOrderBesideOperations) {
  each_seed(200, [](std::uint64_t seed) { ASSERT_EQ(Game(seed, size_of(seed), {}).play(), ""); });
}

TEST(MessagesWorld, OneOfAnotherSizeFailsAloneAtItsReceiver) {
  each_seed(200, [](std::uint64_t seed) {
    Game game(seed, size_of(seed), {.has_wrong_sizes = true});
    ASSERT_EQ(game.play(), "");
    for (std::uint32_t r = 0; r < size_of(seed); ++r)
      for (const auto& message : game.matcher(r).all()) {
        ASSERT_FALSE(message.sends && message.has_failed);
        ASSERT_EQ(message.has_failed, !message.sends && message.data.size() != kSizes[message.tag]);
      }
  });
}

TEST(MessagesWorld, ADeathEndsThemAllAndIsNamed) {
  each_seed(200, [](std::uint64_t seed) { ASSERT_EQ(Game(seed, size_of(seed), {.kills = true}).play(), ""); });
}

TEST(MessagesWorld, AMemberThatLeavesEndsTheMessagesWithIt) {
  each_seed(200, [](std::uint64_t seed) {
    Game game(seed, 2 + static_cast<std::uint32_t>(seed % 2), {.leaves = true});
    // A receive from anyone goes on: somebody else may send. So nothing here may hang but those.
    const std::string fault = game.play();
    if (fault.find("hangs") == std::string::npos) {
      ASSERT_EQ(fault, "");
    }
    for (std::uint32_t r = 0; r < 2; ++r)
      for (const auto& message : game.matcher(r).all())
        if (r != game.culprit() && !message.is_over) {
          ASSERT_EQ(message.peer, kAnyone);
        }
  });
}

TEST(MessagesWorld, WithdrawnMemoryIsNotTouchedAndTheOthersGoOn) {
  each_seed(300, [](std::uint64_t seed) { ASSERT_EQ(Game(seed, size_of(seed), {.withdraws = true}).play(), ""); });
}

/// Two members by hand.
struct Pair {
  explicit Pair(std::uint64_t seed)
      : matchers(2, Matcher(2)), world(seed, {.size = 2, .messages = {&matchers[0], &matchers[1]}}) {}
  Messages& messages(std::uint32_t rank) { return *world[rank].engine->messages(); }
  void run() {
    const Time end = world.now + Seconds{1};
    while (world.step(end)) {
    }
  }
  std::vector<Matcher> matchers;
  World world;
};

TEST(MessagesWorld, AMemberThatReceivesNothingKeepsAWindowOfMessagesAndNoMore) {
  each_seed(20, [](std::uint64_t seed) {
    Pair pair(seed);
    for (std::uint32_t i = 1; i <= 300; ++i) pair.matchers[0].send(pair.messages(0), 0, 1, i % 2 == 0 ? 2 : 5, i);
    pair.run();
    EXPECT_EQ(pair.matchers[1].kept_count(), kMessagesAhead);
    EXPECT_LE(pair.matchers[1].kept_bytes(), kMessagesAhead * kSizes[2]);
    // A receive of a tag that comes last finds its message behind all of them.
    pair.matchers[0].send(pair.messages(0), 0, 1, 1, 301);
    pair.matchers[1].receive(pair.messages(1), 0, 1, kSizes[1]);
    do {
      pair.matchers[1].extend(pair.messages(1));
      pair.run();
      const bool is_stuck = pair.messages(1).is_stuck(0);
      if (pair.matchers[1].is_over()) break;
      ASSERT_TRUE(is_stuck);
    } while (true);
    EXPECT_EQ(pair.matchers[1].judge(), "");
    EXPECT_EQ(pair.matchers[1].kept_count(), 300u);
  });
}

TEST(MessagesWorld, NotesPassMessagesThatNobodyReceives) {
  Pair pair(1);
  for (std::uint32_t i = 1; i <= 100; ++i) pair.matchers[0].send(pair.messages(0), 0, 1, 1, i);
  pair.messages(0).note(1, 7, 42);
  pair.run();
  EXPECT_EQ((pair.matchers[1].notes), (std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>{{{0, 7}, 42}}));
}

}  // namespace
}  // namespace sumac::p2p
