#include "lab/channel.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace sumac::lab {
namespace {

TEST(Channel, text_and_descriptors_arrive_together) {
  auto pair = make_pair();
  ASSERT_TRUE(pair);
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  const UniqueFd reader{pipe_fds[0]};
  UniqueFd writer{pipe_fds[1]};
  ASSERT_TRUE(want_sender(pair->theirs.get()));
  ASSERT_TRUE(send_message(pair->ours.get(), "hello", {writer.get(), writer.get()}));
  writer.reset();
  auto message = receive_message(pair->theirs.get());
  ASSERT_TRUE(message);
  EXPECT_EQ(message->text, "hello");
  EXPECT_EQ(message->sender, ::getpid());
  ASSERT_EQ(message->fds.size(), 2U);
  EXPECT_EQ(::write(message->fds[1].get(), "x", 1), 1);
  char got = 0;
  EXPECT_EQ(::read(reader.get(), &got, 1), 1);
}

TEST(Channel, the_end_of_the_other_side_is_an_error_not_a_message) {
  auto pair = make_pair();
  ASSERT_TRUE(pair);
  pair->theirs.reset();
  const auto message = receive_message(pair->ours.get());
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, Errc::lost);
  const auto sent = send_message(pair->ours.get(), "anybody?");
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Errc::lost);
}

TEST(Channel, a_name_has_one_listener) {
  const auto name = fmt::format("sumac-channel-test-{}", ::getpid());
  EXPECT_EQ(connect_to(name).error().code, Errc::not_found);
  auto listener = listen_at(name);
  ASSERT_TRUE(listener);
  EXPECT_EQ(listen_at(name).error().code, Errc::exists);
  EXPECT_TRUE(connect_to(name));
  listener->reset();
  EXPECT_EQ(connect_to(name).error().code, Errc::not_found);
}

TEST(Channel, a_command_survives_packing) {
  const Command command{"/some where",
                        {"program", "", "a b", "--x=1"},
                        {"A=1", "EMPTY=", std::string("BIG=") + std::string(200'000, 'x')}};
  auto packed = pack(command);
  ASSERT_TRUE(packed);
  const auto back = unpack(packed->get());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->directory, command.directory);
  EXPECT_EQ(back->arguments, command.arguments);
  EXPECT_EQ(back->environment, command.environment);
}

TEST(Channel, a_malformed_command_is_refused) {
  for (const std::string_view bytes : {std::string_view(""), std::string_view("/\0", 2),
                                       std::string_view("/\0"
                                                        "2\0a\0",
                                                        6),
                                       std::string_view("/\0"
                                                        "0\0"
                                                        "0\0",
                                                        6),
                                       std::string_view("/\0"
                                                        "1\0a",
                                                        5)}) {
    char path[] = "/tmp/sumac-channel-test-XXXXXX";
    const UniqueFd file{::mkstemp(path)};
    ::unlink(path);
    ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    EXPECT_FALSE(unpack(file.get()));
  }
}

}  // namespace
}  // namespace sumac::lab
