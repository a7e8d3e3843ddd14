#include "control/endpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/test_server.hpp"

namespace sumac::control {
namespace {

using testing::HasSubstr;

TEST(Endpoint, clear_text_over_tcp_needs_leave_also_on_this_machine) {
  const struct {
    const char* endpoint;
    bool legal, without_leave;
  } rows[] = {
      {"127.0.0.1:6126", true, false},  {"[::1]:6126", true, false},
      {"localhost:1", true, false},     {"0.0.0.0:6126", true, false},
      {"10.0.0.1:6126", true, false},   {"am.cluster:6126", true, false},
      {"unix:/tmp/x", true, true},      {"unix:", false, false},
      {"10.0.0.1", false, false},       {"10.0.0.1:", false, false},
      {"10.0.0.1:65536", false, false}, {":6126", false, false},
      {"::1:6126", false, false},       {"", false, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.endpoint);
    EXPECT_EQ(check_endpoint(row.endpoint, true).has_value(), row.legal);
    EXPECT_EQ(check_endpoint(row.endpoint, false).has_value(), row.without_leave);
  }
  EXPECT_THAT(check_endpoint("127.0.0.1:6126", false).error().context,
              testing::AllOf(HasSubstr("unix:PATH"), HasSubstr("--tls-dir"), HasSubstr("--allow-insecure")));
  EXPECT_TRUE(check_endpoints("unix:/tmp/x,10.0.0.1:1", true));
  EXPECT_FALSE(check_endpoints("unix:/tmp/x,10.0.0.1:1", false));
  EXPECT_FALSE(check_endpoints("unix:/tmp/x,", true));
}

TEST(Endpoint, a_refusal_arrives_as_it_was_and_grpcs_own_want_of_memory_is_none) {
  for (const auto code :
       {Errc::exists, Errc::not_found, Errc::unsupported, Errc::lost, Errc::denied, Errc::exhausted, Errc::invalid}) {
    const auto arrived = from_status(to_status(Error{code, "why"}));
    EXPECT_EQ(arrived.code, code);
    EXPECT_EQ(arrived.context, "why");
  }
  EXPECT_EQ(from_status({grpc::StatusCode::RESOURCE_EXHAUSTED, "Received RST_STREAM with error code 11"}).code,
            Errc::lost);
}

TEST(Endpoint, a_second_server_on_the_same_port_is_refused) {
  auto first = Server::start("127.0.0.1:0", WhoService::make, {});
  ASSERT_TRUE(first) << first.error().context;
  auto second = Server::start(first->endpoint(), WhoService::make, {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().context, HasSubstr(first->endpoint()));
}

TEST(Endpoint, one_server_serves_several) {
  const TestDirectory directory;
  const auto path = "unix:" + directory.path + "/am.sock";
  auto server = Server::start(path + ",127.0.0.1:0", WhoService::make, {});
  ASSERT_TRUE(server) << server.error().context;
  EXPECT_TRUE(server->endpoint().starts_with(path + ",127.0.0.1:")) << server->endpoint();
  EXPECT_EQ(ask_who(path), fmt::format("user {}", ::geteuid()));
  const auto tcp = ask_who(server->endpoint().substr(path.size() + 1));
  EXPECT_THAT(tcp, testing::AnyOf(fmt::format("user {}", ::geteuid()), "somebody without a certificate, no daemon"));
}

}  // namespace
}  // namespace sumac::control
