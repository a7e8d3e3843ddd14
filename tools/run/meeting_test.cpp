#include "tools/run/meeting.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <set>
#include <thread>

#include "base/hmac.hpp"

namespace sumac::tools {
namespace {

constexpr Secret kOne{1, 2, 3}, kOther{1, 2, 4};

TEST(Meeting, a_secret_is_32_hexadecimal_digits) {
  EXPECT_EQ(*read_secret("01020300000000000000000000000000"), kOne);
  for (const char* wrong : {"", "0102", "0102030000000000000000000000000x", "0102030000000000000000000000000000"})
    EXPECT_FALSE(read_secret(wrong)) << wrong;
}

TEST(Meeting, proofs_are_of_one_secret_one_side_and_these_words) {
  ASSERT_TRUE(prepare_hmac());
  const auto sent = with_proof(kOne, Said::by_host, "host c2\n");
  EXPECT_EQ(*without_proof(kOne, Said::by_host, sent), "host c2\n");
  EXPECT_FALSE(without_proof(kOther, Said::by_host, sent));
  EXPECT_FALSE(without_proof(kOne, Said::by_first, sent)) << "an answer that is what was said";
  EXPECT_FALSE(without_proof(kOne, Said::by_host, sent + "x"));
  EXPECT_FALSE(without_proof(kOne, Said::by_host, sent.substr(0, 64)));
  EXPECT_FALSE(without_proof(kOne, Said::by_host, ""));
}

TEST(Meeting, ports_are_of_one_secret) {
  ASSERT_TRUE(prepare_hmac());
  const auto ports = meeting_ports(kOne);
  EXPECT_EQ(ports.size(), 8u);
  EXPECT_EQ(ports, meeting_ports(kOne));
  EXPECT_NE(ports, meeting_ports(kOther));
}

TEST(Meeting, each_host_with_the_secret_gets_its_answer) {
  const auto secret = draw_secret();
  ASSERT_TRUE(secret);
  const auto other = MeetingPlace::open(*secret);  // Another program has the first port, and answers nobody.
  ASSERT_TRUE(other);
  const auto first = MeetingPlace::open(*secret);
  ASSERT_TRUE(first) << first.error().context;
  const auto deadline = monotonic_now() + Seconds(30);
  const auto ask = [&](const Secret& with, const std::string& words, Time until) {
    return ask_first("localhost", with, words, until, -1);
  };
  std::thread two([&] { EXPECT_EQ(ask(*secret, "c2", deadline).value_or("none"), "for c2"); });
  std::thread three([&] { EXPECT_EQ(ask(*secret, "c3", deadline).value_or("none"), "for c3"); });
  std::set<std::string> came;
  const auto done = first->answer(
      2,
      [&](const std::string& words) -> Result<std::string> {
        came.insert(words);
        return "for " + words;
      },
      deadline, -1);
  two.join();
  three.join();
  EXPECT_TRUE(done);
  EXPECT_EQ(came, (std::set<std::string>{"c2", "c3"}));
}

TEST(Meeting, neither_side_waits_longer_than_its_deadline_or_an_interrupt) {
  const auto secret = draw_secret();
  ASSERT_TRUE(secret);
  const auto none = [](const std::string&) -> Result<std::string> { return std::string(); };
  const UniqueFd interrupt(::eventfd(1, EFD_CLOEXEC));
  EXPECT_EQ(ask_first("localhost", *secret, "c2", monotonic_now(), -1).error().code, Errc::timeout);
  EXPECT_EQ(ask_first("localhost", *secret, "c2", monotonic_now() + Seconds(30), interrupt.get()).error().code,
            Errc::interrupted);
  const auto first = MeetingPlace::open(*secret);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->answer(1, none, monotonic_now(), -1).error().code, Errc::timeout);
  EXPECT_EQ(first->answer(1, none, monotonic_now() + Seconds(30), interrupt.get()).error().code, Errc::interrupted);
}

}  // namespace
}  // namespace sumac::tools
