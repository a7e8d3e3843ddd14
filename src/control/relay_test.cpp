#include "control/relay.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>

#include "control/test_http2.hpp"

namespace sumac::control {
namespace {

using namespace test;

constexpr Relay::Limits kLimits{{10'000, 4}, 5, 20'000, 50'000};

/// A relay whose callers and whose gRPC are the test.
struct Scene {
  struct Peer {
    Relay::Id id;
    UniqueFd caller, grpc;
  };
  Relay relay = Relay::make(kLimits).value();
  Time now{};
  std::vector<Relay::Ended> ended;

  Peer add(Relay::Id id, const std::string& share = "user 1") {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    auto grpc = relay.add(id, {.fd = UniqueFd(pair[0])}, share);
    EXPECT_TRUE(grpc) << grpc.error().context;
    return {id, UniqueFd(pair[1]), std::move(*grpc)};
  }
  void progress() {
    for (auto& one : relay.progress(now)) ended.push_back(std::move(one));
  }
  bool is_over(const Peer& peer) {
    progress();
    return std::ranges::any_of(ended, [&](const auto& one) { return one.id == peer.id; });
  }
};

/// Sends what the socket takes now, and returns how many bytes those were.
std::size_t send_some(const UniqueFd& fd, std::string_view text) {
  const auto sent = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
  return static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
}

std::string take(const UniqueFd& fd) {
  std::string text(100'000, '\0');
  const auto got = ::recv(fd.get(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

/// Half a message, of a cost of so many bytes.
std::string half(std::size_t cost) {
  return preface() + call(1) + begun(1, 10'000, cost - 5 - UnfinishedCalls::kFrameCost);
}

TEST(Relay, moves_every_byte_both_ways_also_where_the_other_side_is_slow) {
  Scene scene;
  const auto peer = scene.add(1);
  std::string up = preface() + call(1), down;
  for (int i = 0; i < 100; ++i)
    up += frame(kData, 0, 1, prefix(9'000) + std::string(9'000, static_cast<char>('a' + i % 26)));
  for (int i = 0; i < 100; ++i) down += frame(kData, 0, 1, std::string(9'000, static_cast<char>('A' + i % 26)));
  std::string got_up, got_down;
  std::size_t sent_up = 0, sent_down = 0;
  for (int turn = 0; turn < 10'000 && (got_up.size() < up.size() || got_down.size() < down.size()); ++turn) {
    sent_up += send_some(peer.caller, std::string_view(up).substr(sent_up));
    sent_down += send_some(peer.grpc, std::string_view(down).substr(sent_down));
    scene.progress();
    if (turn % 3 == 0) got_up += take(peer.grpc);
    if (turn % 5 == 0) got_down += take(peer.caller);
  }
  EXPECT_TRUE(got_up == up);
  EXPECT_TRUE(got_down == down);
  EXPECT_EQ(scene.relay.unfinished_bytes(), 0U);
  EXPECT_TRUE(scene.ended.empty());
}

TEST(Relay, a_caller_that_hangs_up_is_over_and_grpc_learns_it) {
  Scene scene;
  auto peer = scene.add(1);
  send_some(peer.caller, half(1'000));
  EXPECT_FALSE(scene.is_over(peer));
  EXPECT_EQ(scene.relay.unfinished_bytes(), 1'000U);
  peer.caller.reset();
  EXPECT_TRUE(scene.is_over(peer));
  EXPECT_FALSE(scene.ended[0].exceeded);
  EXPECT_EQ(scene.ended[0].share, "user 1");
  while (!take(peer.grpc).empty()) continue;
  char byte = 0;
  EXPECT_EQ(::recv(peer.grpc.get(), &byte, 1, 0), 0);
  EXPECT_EQ(scene.relay.unfinished_bytes(), 1'000U) << "gRPC keeps them";
  peer.grpc.reset();
  scene.progress();
  EXPECT_EQ(scene.relay.unfinished_bytes(), 0U);
}

TEST(Relay, what_a_caller_has_left_behind_counts_until_grpc_has_closed_its_end_or_for_ten_seconds) {
  for (const bool closes : {true, false}) {
    SCOPED_TRACE(closes);
    Scene scene;
    Scene::Peer before[] = {scene.add(1), scene.add(2)};
    for (auto& each : before) {
      send_some(each.caller, half(9'000));
      EXPECT_FALSE(scene.is_over(each));
      each.caller.reset();
      EXPECT_TRUE(scene.is_over(each));
    }
    auto again = scene.add(3);
    send_some(again.caller, half(2'001));
    EXPECT_TRUE(scene.is_over(again)) << "its share is what it was";
    if (closes)
      for (auto* each : {&before[0], &before[1], &again}) each->grpc.reset();
    scene.now += Seconds(closes ? 0 : 10);
    scene.progress();
    const auto later = scene.add(4);
    send_some(later.caller, half(9'000));
    EXPECT_FALSE(scene.is_over(later));
  }
}

TEST(Relay, the_last_bytes_of_grpc_reach_the_caller_who_takes_them_in_time) {
  for (const bool takes : {true, false}) {
    SCOPED_TRACE(takes);
    Scene scene;
    auto peer = scene.add(1);
    std::string last = frame(kData, 0, 1, std::string(9'000, 'x'));
    for (std::size_t sent = 1; sent > 0; scene.progress()) sent = send_some(peer.grpc, last);
    peer.grpc.reset();
    EXPECT_FALSE(scene.is_over(peer));
    EXPECT_GT(send_some(peer.caller, preface()), 0U) << "bytes that nobody reads do no harm";
    scene.now += Seconds(9);
    EXPECT_FALSE(scene.is_over(peer));
    if (takes) {
      for (int turn = 0; turn < 10'000 && !scene.is_over(peer); ++turn) take(peer.caller);
      EXPECT_TRUE(scene.is_over(peer));
      continue;
    }
    EXPECT_EQ(scene.relay.next_deadline(), Time{} + Seconds(10));
    scene.now += Seconds(1);
    EXPECT_TRUE(scene.is_over(peer));
  }
}

TEST(Relay, a_message_that_is_too_long_closes_its_connection_only) {
  Scene scene;
  const auto bad = scene.add(1), good = scene.add(2);
  send_some(bad.caller, preface() + call(1) + begun(1, 10'001, 0));
  send_some(good.caller, half(1'000));
  EXPECT_TRUE(scene.is_over(bad));
  EXPECT_TRUE(scene.ended[0].exceeded);
  EXPECT_FALSE(scene.is_over(good));
  EXPECT_EQ(take(good.grpc), half(1'000));
}

TEST(Relay, the_connections_of_one_share_have_one_limit) {
  Scene scene;
  auto third = scene.add(3);
  const auto first = scene.add(1), second = scene.add(2), other = scene.add(4, "user 2");
  for (const auto* peer : {&first, &second}) {
    send_some(peer->caller, half(9'000));
    EXPECT_FALSE(scene.is_over(*peer));
  }
  send_some(other.caller, half(9'000));
  EXPECT_FALSE(scene.is_over(other));
  send_some(third.caller, half(2'001));
  EXPECT_TRUE(scene.is_over(third));
  EXPECT_TRUE(scene.ended[0].exceeded);
  third.grpc.reset();
  scene.progress();
  EXPECT_EQ(scene.relay.unfinished_bytes(), 27'000U);
  const auto fourth = scene.add(5);
  send_some(fourth.caller, half(2'000));
  EXPECT_FALSE(scene.is_over(fourth));
}

TEST(Relay, one_share_has_only_so_many_connections) {
  Scene scene;
  std::vector<Scene::Peer> peers;
  for (Relay::Id id = 1; id <= 5; ++id) peers.push_back(scene.add(id));
  EXPECT_EQ(scene.relay.add(6, {}, "user 1").error().code, Errc::exhausted);
  const auto other = scene.add(7, "user 2");
  EXPECT_FALSE(scene.is_over(other));
  peers.pop_back();
  scene.progress();
  const auto again = scene.add(8);
  EXPECT_FALSE(scene.is_over(again));
}

TEST(Relay, beyond_the_limit_of_all_the_largest_is_closed) {
  Scene scene;
  std::vector<Scene::Peer> peers;
  for (Relay::Id id = 1; id <= 5; ++id) {
    peers.push_back(scene.add(id, fmt::format("user {}", id)));
    send_some(peers.back().caller, half(id == 2 ? 10'000 : 9'900));
    EXPECT_FALSE(scene.is_over(peers.back()));
  }
  const auto last = scene.add(6, "user 6");
  send_some(last.caller, half(1'000));
  EXPECT_FALSE(scene.is_over(last));
  EXPECT_TRUE(scene.is_over(peers[1]));
  EXPECT_EQ(scene.ended.size(), 1U);
}

}  // namespace
}  // namespace sumac::control
