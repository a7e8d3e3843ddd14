#include "control/unfinished_calls.hpp"

#include <gtest/gtest.h>

#include "control/test_http2.hpp"

namespace sumac::control {
namespace {

using namespace test;

constexpr CallLimits kCallLimits{1000, 4};
constexpr std::size_t kFrame = UnfinishedCalls::kFrameCost;

/// Feeds the text in pieces of so many bytes.
bool feed(UnfinishedCalls& calls, const std::string& text, std::size_t piece) {
  for (std::size_t at = 0; at < text.size(); at += piece)
    if (!calls.caller_sends(bytes_of(text.substr(at, piece)))) return false;
  return true;
}

TEST(UnfinishedCalls, count_what_has_begun_and_not_ended_in_whatever_pieces_it_comes) {
  const std::string whole = frame(kData, 0, 1, prefix(3) + "abc"), empty = frame(kData, 0, 1, prefix(0));
  const struct {
    const char* name;
    std::string sent;
    std::size_t bytes, streams;
  } rows[] = {
      {"nothing but the preface", "", 0, 0},
      {"a call without a message", call(1), 0, 1},
      {"a whole message", call(1) + whole, 0, 1},
      {"an empty message", call(1) + empty, 0, 1},
      {"three messages in one frame", call(1) + frame(kData, 0, 1, prefix(1) + "a" + prefix(0) + prefix(2) + "bc"), 0,
       1},
      {"half a message", call(1) + begun(1, 100, 50), 55 + kFrame, 1},
      {"its other half in two frames",
       call(1) + begun(1, 100, 50) + frame(kData, 0, 1, std::string(49, 'x')) + frame(kData, 0, 1, "x"), 0, 1},
      {"half a prefix", call(1) + frame(kData, 0, 1, prefix(9).substr(0, 3)), 3 + kFrame, 1},
      {"a whole message and half a one", call(1) + frame(kData, 0, 1, prefix(1) + "a" + prefix(9) + "b"), 6, 1},
      {"two streams", call(1) + call(3) + begun(1, 100, 10) + begun(3, 100, 20), 40 + 2 * kFrame, 2},
      {"frames without a byte", call(1) + frame(kData, 0, 1) + frame(kData, 0, 1), 2 * kFrame, 1},
      {"a caller's last frame ends its message", call(1) + begun(1, 100, 10) + frame(kData, kEndStream, 1), 0, 1},
      {"a reset", call(1) + begun(1, 100, 10) + frame(kReset, 0, 1, big_endian(8, 4)), 0, 0},
      {"data of no call", begun(1, 100, 10), 0, 0},
      {"other frames", frame(kSettings, 0, 0) + frame(0xee, 0, 1, "anything"), 0, 0},
  };
  for (const auto& row : rows)
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{10'000}}) {
      SCOPED_TRACE(row.name);
      UnfinishedCalls calls(kCallLimits);
      EXPECT_TRUE(feed(calls, preface() + row.sent, piece));
      EXPECT_EQ(calls.bytes(), row.bytes);
      EXPECT_EQ(calls.streams(), row.streams);
    }
}

TEST(UnfinishedCalls, refuse_what_exceeds_a_limit_and_what_grpc_does_not_speak) {
  const std::string longest(UnfinishedCalls::kHeaderBytesMax, 'h');
  const auto many = [](std::uint32_t count) {
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i) text += call(2 * i + 1);
    return text;
  };
  const struct {
    const char* name;
    std::string sent;
    bool passes;
  } rows[] = {
      {"a message of the longest length", preface() + call(1) + begun(1, 1000, 0), true},
      {"a message of one byte more", preface() + call(1) + begun(1, 1001, 0), false},
      {"a message of 4 GiB", preface() + call(1) + begun(1, 0xffffffff, 0), false},
      {"a second message of one byte more", preface() + call(1) + frame(kData, 0, 1, prefix(0) + prefix(1001)), false},
      {"as many calls as allowed", preface() + many(4), true},
      {"one call more", preface() + many(5), false},
      {"headers of the longest length", preface() + frame(kHeaders, kEndHeaders, 1, longest), true},
      {"headers of one byte more", preface() + frame(kHeaders, kEndHeaders, 1, longest + "h"), false},
      {"headers that go on and on", preface() + frame(kHeaders, 0, 1, longest) + frame(kContinuation, 0, 1, "h"),
       false},
      {"a frame of another kind, too long", preface() + frame(0xee, 0, 1, longest + "x"), false},
      {"padding", preface() + call(1) + frame(kData, kPadded, 1, std::string("\0", 1) + prefix(0)), false},
      {"another protocol", "GET / HTTP/1.1\r\n\r\n", false},
      {"another preface", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", false},
  };
  for (const auto& row : rows)
    for (const std::size_t piece : {std::size_t{1}, std::size_t{100'000}}) {
      SCOPED_TRACE(row.name);
      UnfinishedCalls calls(kCallLimits);
      EXPECT_EQ(feed(calls, row.sent, piece), row.passes);
    }
}

TEST(UnfinishedCalls, end_with_the_streams_that_grpc_ends) {
  const struct {
    const char* name;
    std::string answer;
    std::size_t streams;
  } rows[] = {
      {"the headers of an answer", frame(kHeaders, kEndHeaders, 1, "ok"), 1},
      {"data", frame(kData, 0, 1, "answer"), 1},
      {"the last of an answer", frame(kHeaders, kEndHeaders | kEndStream, 1, "status"), 0},
      {"the last data", frame(kData, kEndStream, 1), 0},
      {"a reset", frame(kReset, 0, 1, big_endian(8, 4)), 0},
      {"a reset of another stream", frame(kReset, 0, 3, big_endian(8, 4)), 1},
      {"other frames before", frame(kSettings, 0, 0) + frame(kData, 0, 3, "x") + frame(kReset, 0, 1, "code"), 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    for (const std::size_t piece : {std::size_t{1}, row.answer.size()}) {
      UnfinishedCalls calls(kCallLimits);
      ASSERT_TRUE(feed(calls, preface() + call(1) + begun(1, 100, 10), 100'000));
      for (std::size_t at = 0; at < row.answer.size(); at += piece)
        calls.grpc_sends(bytes_of(row.answer.substr(at, piece)));
      EXPECT_EQ(calls.streams(), row.streams);
      EXPECT_EQ(calls.bytes(), row.streams * (15 + kFrame));
    }
  }
}

}  // namespace
}  // namespace sumac::control
