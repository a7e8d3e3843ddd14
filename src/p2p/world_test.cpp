// The engine in the seeded world: random collectives, several in flight, members that are late, crash, lose a
// connection, disagree or leave. Every result is right or every operation ends with an error; nothing hangs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "p2p/test_exercise.hpp"
#include "p2p/test_seeds.hpp"
#include "p2p/test_world.hpp"

namespace sumac::p2p {
namespace {

using test::each_seed;
using test::Exercise;
using test::World;
using Progress = Engine::Progress;

/// One member's side of a run: it starts the operations in order, each at a time of its own, with some in flight.
struct Player {
  std::vector<Exercise::Mine> data;
  std::vector<void*> requests;
  std::vector<Progress> ends;
  std::size_t started = 0, flying = 0;
  Time starts_at{};
  std::string fault;
};

struct Trouble {
  enum class What : std::uint8_t { none, kill, cut, disagree, leave };
  What what = What::none;
  std::uint32_t rank = 0, other = 0;
  std::size_t operation = 0;  ///< It happens when this member starts this one.
};

struct Outcome {
  std::string fault;  ///< Empty if everything that must hold did.
  bool has_failed = false;
  std::vector<std::string> errors;
};

constexpr std::size_t kOperations = 12;
constexpr Duration kLimit = Seconds{20};  ///< Virtual. The question of a member that waits in vain comes after 1 s.

class Game {
 public:
  Game(std::uint64_t seed, std::uint32_t size, const Trouble& trouble, bool is_bursty)
      : world_(seed, {.size = size}), trouble_(trouble), players_(size), is_bursty_(is_bursty) {
    const int kinds = trouble.what == Trouble::What::none ? coll::kKinds : Exercise::kTaken;
    for (std::size_t k = 0; k < kOperations; ++k)
      exercises_.emplace_back(seed * 1000 + k, size, k % 4 == 0 ? 20000 : 300, kinds);
    wrong_ = std::make_unique<Exercise>(seed * 1000 + 999, size, 300, kinds);
    for (std::uint32_t r = 0; r < size; ++r) {
      Player& player = players_[r];
      player.requests.resize(kOperations);
      player.ends.resize(kOperations, Progress::pending);
      for (std::size_t k = 0; k < kOperations; ++k) {
        const Exercise& exercise = exercise_of(r, k);
        player.data.push_back(exercise.make(r));
        exercise.aim(r, player.data.back());
      }
    }
  }

  Outcome play() {
    while (world_.now < at(kLimit) && !all_over()) {
      bool moved = false;
      for (std::uint32_t r = 0; r < world_.size(); ++r) moved = move(r) || moved;
      if (moved) continue;
      Time next = at(kLimit);
      for (std::uint32_t r = 0; r < world_.size(); ++r)
        if (!world_[r].is_dead && !has_left_[r]) next = std::min({next, wakes(r)});
      if (!world_.step(next))
        for (std::uint32_t r = 0; r < world_.size(); ++r)
          if (!world_[r].is_dead) world_[r].engine->settle(world_.now);
    }
    return judge();
  }

 private:
  const Exercise& exercise_of(std::uint32_t rank, std::size_t k) const {
    const bool is_wrong = trouble_.what == Trouble::What::disagree && trouble_.rank == rank && trouble_.operation == k;
    return is_wrong ? *wrong_ : exercises_[k];
  }
  std::size_t most_flying() const { return is_bursty_ ? kOperations : 3; }
  Time wakes(std::uint32_t r) {
    const Player& player = players_[r];
    const Time due = world_[r].engine->failure() ? kNever : world_[r].engine->next_due();
    return player.started < kOperations && player.flying < most_flying() ? std::min(due, player.starts_at) : due;
  }
  bool is_over(std::uint32_t r) const {
    const Player& player = players_[r];
    return player.started == kOperations && player.flying == 0;
  }
  bool all_over() {
    for (std::uint32_t r = 0; r < world_.size(); ++r)
      if (!world_[r].is_dead && !has_left_[r] && !is_over(r)) return false;
    return true;
  }

  bool move(std::uint32_t r) {
    Player& player = players_[r];
    if (world_[r].is_dead || has_left_[r]) return false;
    Engine& engine = *world_[r].engine;
    bool moved = false;
    for (std::size_t k = 0; k < player.started; ++k) {
      if (player.requests[k] == nullptr) continue;
      const auto progress = engine.test(player.requests[k]);
      if (progress != Progress::pending) end(r, k, progress), moved = true;
    }
    if (player.started < kOperations && player.flying < most_flying() && world_.now >= player.starts_at) {
      start(r);
      moved = true;
    }
    return moved;
  }

  void start(std::uint32_t r) {
    Player& player = players_[r];
    const std::size_t k = player.started;
    if (trouble_.rank == r && trouble_.operation == k) {
      if (trouble_.what == Trouble::What::kill) return world_.kill(r);
      if (trouble_.what == Trouble::What::cut) world_.cut(r, trouble_.other);
      if (trouble_.what == Trouble::What::leave) {
        // It ends its operations first, and tries again while a connection takes nothing.
        player.starts_at = world_.now + Micros{100};
        has_left_[r] = player.flying == 0 && world_[r].engine->leave();
        return;
      }
    }
    ++player.started;
    player.starts_at = world_.now + Duration(world_.random.below(is_bursty_ && r == 0 ? 1000 : 3'000'000));
    const auto progress =
        world_[r].engine->start(player.data[k].operation, exercise_of(r, k).algorithm, player.requests[k], world_.now);
    ++player.flying;
    if (progress != Progress::pending) end(r, k, progress);
  }

  void end(std::uint32_t r, std::size_t k, Progress progress) {
    Player& player = players_[r];
    player.requests[k] = nullptr;
    player.ends[k] = progress;
    --player.flying;
    const bool is_wrong = &exercise_of(r, k) != &exercises_[k];
    if (progress == Progress::done && player.fault.empty() && !is_wrong)
      player.fault = exercises_[k].check(r, player.data[k]);
  }

  Outcome judge() {
    Outcome outcome;
    for (std::uint32_t r = 0; r < world_.size(); ++r) {
      const Player& player = players_[r];
      if (!player.fault.empty()) outcome.fault = player.fault;
      if (world_[r].is_dead || has_left_[r]) continue;
      if (!is_over(r))
        outcome.fault =
            fmt::format("rank {} hangs: {} of {} started, {} in flight", r, player.started, kOperations, player.flying);
      if (const auto& failure = world_[r].engine->failure()) {
        outcome.has_failed = true;
        outcome.errors.push_back(failure->context);
      }
    }
    // A member that has ended everything may learn of the failure later, but all others know it.
    if (outcome.has_failed)
      for (std::uint32_t r = 0; r < world_.size(); ++r) {
        const bool is_done = std::ranges::count(players_[r].ends, Progress::done) == kOperations;
        if (!world_[r].is_dead && !has_left_[r] && !is_done && !world_[r].engine->failure())
          outcome.fault = fmt::format("rank {} does not know of the failure", r);
      }
    // Two messages and two announcements of each operation in the window, from each of the others.
    const std::size_t most = (world_.size() - 1) * 4 * 4 * BufferPool::footprint(wire::kPeerHeaderBytes + 200) +
                             kOperations * world_.size() * 4 * BufferPool::footprint(wire::kPeerHeaderBytes + 200);
    if (world_.early_bytes_max > most)
      outcome.fault = fmt::format("{} bytes of early messages", world_.early_bytes_max);
    return outcome;
  }

  World world_;
  Trouble trouble_;
  std::vector<Player> players_;
  std::vector<Exercise> exercises_;
  std::unique_ptr<Exercise> wrong_;
  std::vector<bool> has_left_ = std::vector<bool>(64);
  bool is_bursty_;
};

std::uint32_t size_of(std::uint64_t seed) { return static_cast<std::uint32_t>(1 + seed % 9); }

TEST(World, EveryResultIsRight) {
  each_seed(300, [](std::uint64_t seed) {
    const auto outcome = Game(seed, size_of(seed), {}, seed % 3 == 0).play();
    ASSERT_EQ(outcome.fault, "");
    ASSERT_FALSE(outcome.has_failed) << outcome.errors[0];
  });
}

/// Draws who, when and with whom.
Trouble trouble_of(Trouble::What what, std::uint64_t seed, std::uint32_t size) {
  Random random(seed + 77);
  Trouble trouble{what, static_cast<std::uint32_t>(random.below(size)), 0, random.below(kOperations)};
  trouble.other = static_cast<std::uint32_t>((trouble.rank + 1 + random.below(size - 1)) % size);
  return trouble;
}

TEST(World, ADeathEndsEveryOperationAndIsNamed) {
  each_seed(200, [](std::uint64_t seed) {
    const std::uint32_t size = 2 + static_cast<std::uint32_t>(seed % 8);
    const auto trouble = trouble_of(Trouble::What::kill, seed, size);
    const auto outcome = Game(seed, size, trouble, seed % 3 == 0).play();
    ASSERT_EQ(outcome.fault, "");
    for (const auto& error : outcome.errors)
      EXPECT_NE(error.find(fmt::format("rank {} is lost", trouble.rank)), error.npos) << error;
  });
}

TEST(World, ALostConnectionEndsEveryOperation) {
  std::size_t failed = 0;
  each_seed(200, [&](std::uint64_t seed) {
    const std::uint32_t size = 2 + static_cast<std::uint32_t>(seed % 8);
    const auto outcome = Game(seed, size, trouble_of(Trouble::What::cut, seed, size), seed % 3 == 0).play();
    ASSERT_EQ(outcome.fault, "");
    failed += outcome.has_failed ? 1 : 0;
    for (const auto& error : outcome.errors) EXPECT_NE(error.find("is lost"), error.npos) << error;
  });
  // In the others nobody needed the connection any more.
  if (std::getenv("SUMAC_SEED") == nullptr) {
    EXPECT_GT(failed, 150u);
  }
}

TEST(World, MembersThatDisagreeAreTold) {
  std::size_t failed = 0;
  each_seed(200, [&](std::uint64_t seed) {
    const std::uint32_t size = 2 + static_cast<std::uint32_t>(seed % 8);
    const auto outcome = Game(seed, size, trouble_of(Trouble::What::disagree, seed, size), seed % 3 == 0).play();
    ASSERT_EQ(outcome.fault, "");
    failed += outcome.has_failed ? 1 : 0;
    for (const auto& error : outcome.errors)
      EXPECT_NE(error.find("all members must call the same collectives"), error.npos) << error;
  });
  // Some draw the same kind and size as the others, or no data at all.
  if (std::getenv("SUMAC_SEED") == nullptr) {
    EXPECT_GT(failed, 150u);
  }
}

TEST(World, AMemberThatLeavesTooEarlyIsNamed) {
  each_seed(100, [](std::uint64_t seed) {
    const std::uint32_t size = 2 + static_cast<std::uint32_t>(seed % 8);
    const auto trouble = trouble_of(Trouble::What::leave, seed, size);
    const auto outcome = Game(seed, size, trouble, false).play();
    ASSERT_EQ(outcome.fault, "");
    for (const auto& error : outcome.errors)
      EXPECT_NE(error.find(fmt::format("rank {} has left", trouble.rank)), error.npos) << error;
  });
}

}  // namespace
}  // namespace sumac::p2p
