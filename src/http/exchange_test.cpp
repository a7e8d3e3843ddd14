#include "http/exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sumac::http {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Exchange, a_request_is_taken_apart_and_answered) {
  Request seen;
  Exchange exchange([&](const Request& request) {
    seen = request;
    EXPECT_EQ(request.header("X-WORD"), "yes");
    EXPECT_EQ(request.header("Twice"), std::nullopt) << "which of the two counts is not plain";
    EXPECT_EQ(request.header_count("twice"), 2u);
    return Response{.status = 404, .type = "application/json", .body = "{}", .headers = {{"X-Also", "1"}}};
  });
  const auto answer =
      exchange.answer("GET /a%20b?q=%3Cx%3E&q=2 HTTP/1.1\r\nx-word: yes\r\nTwice: 1\r\nTwice: 2\r\n\r\n");
  EXPECT_EQ(seen.method, "GET");
  EXPECT_EQ(seen.path, "/a b");
  EXPECT_EQ(seen.query.at("q"), "<x>");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(answer, HasSubstr("X-Also: 1\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n{}"));
}

TEST(Exchange, many_ranges_do_not_multiply_an_answer) {
  Exchange exchange([](const Request&) { return Response{.body = std::string(100'000, 'x')}; });
  std::string ranges = "bytes=0-";
  for (int i = 0; i < 500; ++i) ranges += ",0-";
  EXPECT_LT(exchange.answer("GET / HTTP/1.1\r\nRange: " + ranges + "\r\n\r\n").size(), 1000u);
}

TEST(Exchange, nothing_is_compressed) {
  Exchange exchange([](const Request&) { return Response{.body = std::string(10'000, 'x')}; });
  const auto answer = exchange.answer("GET / HTTP/1.1\r\nACCEPT-Encoding: gzip\r\nAccept-Encoding: br\r\n\r\n");
  EXPECT_THAT(answer, testing::EndsWith(std::string(10'000, 'x')));
  EXPECT_THAT(answer, Not(HasSubstr("Content-Encoding")));
}

TEST(Exchange, rubbish_gets_an_answer) {
  Exchange exchange([](const Request&) { return Response{.body = "secret"}; });
  for (const auto* rubbish : {"\r\n\r\n", "x\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9\r\n\r\n"}) {
    const auto answer = exchange.answer(rubbish);
    EXPECT_THAT(answer, Not(HasSubstr("secret"))) << rubbish;
  }
}

}  // namespace
}  // namespace sumac::http
