#include "page/tokens.hpp"

#include <gtest/gtest.h>

namespace sumac::page {
namespace {

constexpr Viewer kAlice{.everything = false, .uid = 1001}, kBob{.everything = false, .uid = 1002}, kRoot{true, 0};

TEST(Tokens, a_token_proves_its_user_until_it_expires) {
  Tokens tokens;
  const auto alice = tokens.issue("user 1001", kAlice, at(Seconds(0))).value();
  const auto bob = tokens.issue("user 1002", kBob, at(Seconds(0))).value();
  EXPECT_EQ(alice.size(), 64u);
  EXPECT_NE(alice, bob);
  const Time last = at(Tokens::kLife) - Duration(1);
  EXPECT_EQ(tokens.holder(alice, last), kAlice);
  EXPECT_EQ(tokens.holder(bob, last), kBob);
  EXPECT_EQ(tokens.holder(alice, at(Tokens::kLife)), std::nullopt);
}

TEST(Tokens, anything_else_proves_nobody) {
  Tokens tokens;
  const auto good = tokens.issue("user 1001", kAlice, at(Seconds(0))).value();
  for (const auto& wrong : {std::string(), good.substr(1), good + "0", std::string(64, '0'), good + good, " " + good})
    EXPECT_EQ(tokens.holder(wrong, at(Seconds(1))), std::nullopt) << wrong;
}

TEST(Tokens, a_users_ninth_token_takes_the_place_of_the_first) {
  Tokens tokens;
  const auto bob = tokens.issue("user 1002", kBob, at(Seconds(0))).value();
  const auto first = tokens.issue("user 1001", kAlice, at(Seconds(0))).value();
  const auto second = tokens.issue("user 1001", kAlice, at(Seconds(0))).value();
  for (std::size_t i = 2; i < Tokens::kOfOneUser; ++i) (void)tokens.issue("user 1001", kAlice, at(Seconds(0))).value();
  (void)tokens.issue("user 1001", kAlice, at(Seconds(1))).value();
  EXPECT_EQ(tokens.holder(first, at(Seconds(1))), std::nullopt);
  EXPECT_EQ(tokens.holder(second, at(Seconds(1))), kAlice);
  EXPECT_EQ(tokens.holder(bob, at(Seconds(1))), kBob);
}

TEST(Tokens, a_users_ninth_token_leaves_those_in_use) {
  Tokens tokens;
  const auto in_use = tokens.issue("user 1001", kAlice, at(Seconds(0))).value();
  const auto idle = tokens.issue("user 1001", kAlice, at(Seconds(1))).value();
  for (std::size_t i = 2; i < Tokens::kOfOneUser; ++i) (void)tokens.issue("user 1001", kAlice, at(Seconds(2))).value();
  EXPECT_EQ(tokens.holder(in_use, at(Seconds(3))), kAlice);
  (void)tokens.issue("user 1001", kAlice, at(Seconds(4))).value();
  EXPECT_EQ(tokens.holder(in_use, at(Seconds(5))), kAlice);
  EXPECT_EQ(tokens.holder(idle, at(Seconds(5))), std::nullopt);
}

TEST(Tokens, many_users_do_not_push_out_a_token_in_use) {
  Tokens tokens;
  const auto alice = tokens.issue("user 1001", kAlice, at(Seconds(0))).value();
  // A user with subordinate ids, who can be as many users as he likes.
  for (std::uint32_t uid = 200'000; uid < 200'000 + 2 * Tokens::kOfAll; ++uid) {
    const Time now = at(Seconds(uid - 199'999));
    ASSERT_EQ(tokens.holder(alice, now), kAlice) << uid;
    (void)tokens.issue("user " + std::to_string(uid), {.everything = false, .uid = uid}, now).value();
  }
  EXPECT_EQ(tokens.size(), Tokens::kOfAll);
}

TEST(Tokens, many_users_do_not_push_an_operator_out) {
  Tokens tokens;
  const auto root = tokens.issue("user 0", kRoot, at(Seconds(0))).value();
  for (std::uint32_t uid = 1; uid < 2 * Tokens::kOfAll; ++uid)
    (void)tokens.issue("user " + std::to_string(uid), {.everything = false, .uid = uid}, at(Seconds(0))).value();
  EXPECT_EQ(tokens.size(), Tokens::kOfAll);
  EXPECT_EQ(tokens.holder(root, at(Seconds(1))), kRoot);
}

}  // namespace
}  // namespace sumac::page
