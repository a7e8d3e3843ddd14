#pragma once
// The seeded world of the engine: members in one process, virtual time, and a network that delays each connection by
// itself, takes messages late from their senders' memory, refuses some for a while, and breaks as the plan says. A body
// that is received in its final memory arrives in two halves.
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "p2p/engine.hpp"

namespace sumac::p2p::test {

class World {
 public:
  struct Plan {
    std::uint32_t size = 2;
    std::uint64_t eager_max = 200;
    std::uint32_t window = 4;
    Duration delay_max = Micros{500};
    Duration lost_after = Millis{50};        ///< A crash is noticed within this time.
    std::vector<MessageEvents*> messages{};  ///< The user at each member; empty: groups without messages.
    std::uint64_t part_max = 1000;
  };

  class Member final : private Carrier {
   public:
    Member(World& world, std::uint32_t rank, const Plan& plan)
        : pool_(std::size_t{64} << 20), world_(world), rank_(rank), taken_(plan.size), left_(plan.size) {
      Carrier& carrier = *this;
      engine = std::make_unique<Engine>(EngineConfig{.rank = rank,
                                                     .size = plan.size,
                                                     .group = 7,
                                                     .eager_max = plan.eager_max,
                                                     .window = plan.window,
                                                     .messages = plan.messages.empty() ? nullptr : plan.messages[rank],
                                                     .part_max = plan.part_max},
                                        carrier, pool_);
    }

   private:
    BufferPool pool_;

   public:
    std::unique_ptr<Engine> engine;
    bool is_dead = false;  ///< It does nothing any more.

   private:
    friend class World;
    Errc send(std::uint32_t peer, std::span<const std::byte> head, const Payload& body) override {
      return world_.send(rank_, peer, head, body);
    }
    std::uint64_t taken(std::uint32_t peer) const override { return taken_[peer]; }
    std::uint64_t left(std::uint32_t peer) const override { return left_[peer]; }
    void on_failed() override { world_.detach(rank_); }
    void detach(std::uint32_t peer) override { world_.detach(rank_, peer); }

    World& world_;
    std::uint32_t rank_;
    std::vector<std::uint64_t> taken_, left_;
  };

  World(std::uint64_t seed, const Plan& plan)
      : random(seed), plan_(plan), is_as_ucx_(seed % 2 == 1), ways_(plan.size * plan.size) {
    for (std::uint32_t r = 0; r < plan.size; ++r) members_.push_back(std::make_unique<Member>(*this, r, plan));
  }

  Member& operator[](std::uint32_t rank) { return *members_[rank]; }
  std::uint32_t size() const { return plan_.size; }

  /// The member does nothing more. The others notice after a while; some of its last messages may still arrive.
  void kill(std::uint32_t rank) {
    members_[rank]->is_dead = true;
    detach(rank);
    for (std::uint32_t peer = 0; peer < size(); ++peer)
      if (peer != rank) cut(rank, peer);
  }
  /// The connection between two members breaks.
  void cut(std::uint32_t a, std::uint32_t b) {
    for (auto [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      Way& way = way_of(from, to);
      if (way.is_cut) continue;
      way.is_cut = true;
      // A part of the messages on their way is lost, always the last ones.
      way.queue.resize(random.below(way.queue.size() + 1));
      way.lost_at = now + Duration(random.below(static_cast<std::uint64_t>(plan_.lost_after.count())));
    }
  }

  /// Does the next thing that is due, not later than `until`. Returns false if nothing was.
  bool step(Time until) {
    std::optional<std::uint32_t> next;
    Time due = until;
    for (std::uint32_t i = 0; i < ways_.size(); ++i)
      if (const Time at = due_of(ways_[i]); at < due) due = at, next = i;
    now = std::max(now, due);
    if (!next) return false;
    advance(ways_[*next], *next / size(), *next % size());
    return true;
  }

  Random random;
  Time now{};
  std::size_t early_bytes_max = 0;

 private:
  struct Message {
    std::vector<std::byte> bytes;  ///< The head; with the body once it has left.
    Payload body;
    bool has_left = false;
    bool is_whole = false;  ///< Its final memory was taken away while it arrived.
    Time leaves, arrives;
  };
  struct Way {
    std::deque<Message> queue;
    bool is_cut = false, is_full = false;
    Time lost_at = kNever, last{};
    std::span<std::byte> placing;  ///< The memory of a message of which the first half has arrived.
    struct Finishing {
      std::uint64_t bytes = 0;
      Time at{};
    };
    std::deque<Finishing> finishing;  ///< Messages that have left, of which their sender does not know it yet.
  };

  Way& way_of(std::uint32_t from, std::uint32_t to) { return ways_[from * size() + to]; }

  Errc send(std::uint32_t from, std::uint32_t to, std::span<const std::byte> head, const Payload& body) {
    Way& way = way_of(from, to);
    if (way.is_cut) return Errc::lost;
    if (way.queue.size() > 2 && random.below(8) == 0) {
      way.is_full = true;
      return Errc::again;
    }
    const auto some = [&] { return Duration(1 + random.below(static_cast<std::uint64_t>(plan_.delay_max.count()))); };
    Message message{.bytes = {head.begin(), head.end()}, .body = body, .leaves = now + some(), .arrives = {}};
    message.leaves = std::max(way.last, message.leaves);
    message.arrives = way.last = message.leaves + some();
    way.queue.push_back(std::move(message));
    members_[from]->taken_[to] += head.size() + body.bytes.size();
    return Errc::ok;
  }

  /// Everything that this member lent is copied, and nothing is written into its memory any more.
  void detach(std::uint32_t rank) {
    for (std::uint32_t peer = 0; peer < size(); ++peer) detach(rank, peer);
  }
  void detach(std::uint32_t rank, std::uint32_t peer) {
    for (Message& message : way_of(rank, peer).queue) leave(message, rank, peer);
    while (!way_of(rank, peer).finishing.empty()) finish(rank, peer);
    Way& in = way_of(peer, rank);
    if (!in.placing.empty()) in.queue.front().is_whole = true;
    in.placing = {};
  }
  void leave(Message& message, std::uint32_t from, std::uint32_t to) {
    if (message.has_left) return;
    message.has_left = true;
    auto& finishing = way_of(from, to).finishing;
    const Time last = finishing.empty() ? now : finishing.back().at;
    const Duration late{is_as_ucx_ ? random.below(2000) : 0};
    finishing.push_back({message.bytes.size() + message.body.bytes.size(), std::max(last, now + late)});
    if (!is_as_ucx_) finish(from, to);
    message.bytes.insert(message.bytes.end(), message.body.bytes.begin(), message.body.bytes.end());
    message.body = {};
  }

  void finish(std::uint32_t from, std::uint32_t to) {
    auto& finishing = way_of(from, to).finishing;
    members_[from]->left_[to] += finishing.front().bytes;
    finishing.pop_front();
  }

  Time due_of(const Way& way) const {
    return way.finishing.empty() ? due_of_messages(way) : std::min(way.finishing.front().at, due_of_messages(way));
  }
  Time due_of_messages(const Way& way) const {
    for (const Message& message : way.queue)
      if (!message.has_left)
        return std::min(message.leaves, way.queue.front().has_left ? way.queue.front().arrives : kNever);
    return way.queue.empty() ? way.lost_at : way.queue.front().arrives;
  }

  void advance(Way& way, std::uint32_t from, std::uint32_t to) {
    Member& receiver = *members_[to];
    if (!way.finishing.empty() && way.finishing.front().at <= now) {
      finish(from, to);
      if (!members_[from]->is_dead) members_[from]->engine->settle(now);
      return;
    }
    for (Message& message : way.queue)
      if (!message.has_left && message.leaves <= now) {
        leave(message, from, to);
        if (!members_[from]->is_dead) members_[from]->engine->settle(now);
        return;
      }
    if (way.queue.empty()) {
      way.lost_at = kNever;
      if (!receiver.is_dead) receiver.engine->on_lost(from, {Errc::lost, "closed by the peer"});
      return;
    }
    Message& message = way.queue.front();
    if (!receiver.is_dead && !arrive(way, message, receiver, from)) return;
    way.queue.pop_front();
    if (way.is_full && way.queue.size() < 2) {
      way.is_full = false;
      if (!members_[from]->is_dead && !way.is_cut) members_[from]->engine->on_writable(to);
    }
  }

  /// Returns false when the second half is still to come.
  bool arrive(Way& way, Message& message, Member& receiver, std::uint32_t from) {
    Engine& engine = *receiver.engine;
    const std::size_t payload = message.bytes.size() - wire::kPeerHeaderBytes;
    const auto body = std::span(message.bytes).subspan(wire::kPeerHeaderBytes);
    if (!way.placing.empty()) {
      std::ranges::copy(body.subspan(payload / 2), way.placing.begin() + static_cast<std::ptrdiff_t>(payload / 2));
      way.placing = {};
      engine.on_placed(from);
    } else {
      // Over ucx a long message comes whole if an earlier one is not delivered yet.
      message.is_whole = message.is_whole || (is_as_ucx_ && random.below(4) == 0);
      if (payload > plan_.eager_max && !message.is_whole)
        way.placing = engine.on_head(from, std::span(message.bytes).first<wire::kPeerHeaderBytes>(), payload);
      if (!way.placing.empty()) {
        std::ranges::copy(body.first(payload / 2), way.placing.begin());
        message.arrives = now + Duration(1 + random.below(1000));
        for (Message& later : way.queue) later.arrives = std::max(later.arrives, message.arrives);
        way.last = std::max(way.last, message.arrives);
        return false;
      }
      BufferRef frame = receiver.pool_.acquire(message.bytes.size());
      std::ranges::copy(message.bytes, frame.data());
      engine.on_message(from, frame);
    }
    engine.settle(now);
    early_bytes_max = std::max(early_bytes_max, engine.early_bytes());
    return true;
  }

  Plan plan_;
  bool
      is_as_ucx_;  ///< In every other seed: the sender learns late that its memory is free, and long messages may come whole.
  std::vector<Way> ways_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace sumac::p2p::test
