#include "http/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <semaphore>

#include "http/test_client.hpp"

namespace sumac::http {
namespace {

using test::rest_of;
using test::say;
using testing::StartsWith;

/// More than the buffers of two sockets hold, so that a client which does not read keeps its answer from being over.
constexpr std::size_t kLong = 32 << 20;
constexpr std::string_view kShortRequest = "GET /short HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kLongRequest = "GET /long HTTP/1.1\r\nHost: x\r\n\r\n";

class Site {
 public:
  explicit Site(const ServerLimits& limits = {}) {
    auto listener = Listener::open({.name = "page", .listen = "127.0.0.1:0", .token_from_file = false});
    EXPECT_TRUE(listener) << listener.error().context;
    server_ = Server::start(
                  *std::move(listener), "test",
                  [this](const Request& request) {
                    if (request.path != "/long") return Response{.body = "short"};
                    asked_.release();
                    return Response{.body = std::string(kLong, 'x')};
                  },
                  limits)
                  .value();
  }

  UniqueFd connect() const { return test::connect_to(test::port_of(server_->address())); }
  /// A further client is answered, so all that connected before it are accepted.
  void all_are_accepted() const;
  /// Returns a client whose answer has begun, and is too long to be over.
  UniqueFd begin_long() {
    auto fd = connect();
    say(fd, kLongRequest);
    asked_.acquire();
    return fd;
  }

 private:
  std::counting_semaphore<> asked_{0};
  std::unique_ptr<Server> server_;
};

std::string ask(const UniqueFd& fd) {
  say(fd, kShortRequest);
  return rest_of(fd);
}

void Site::all_are_accepted() const { EXPECT_THAT(ask(connect()), StartsWith("HTTP/1.1 200 ")); }

/// True if the server has closed it: it said nothing, so nothing else can come.
bool is_closed(const UniqueFd& silent) {
  char byte = 0;
  return ::recv(silent.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

std::vector<UniqueFd> silent_clients(const Site& site, int count) {
  std::vector<UniqueFd> clients;
  for (int i = 0; i < count; ++i) clients.push_back(site.connect());
  site.all_are_accepted();
  return clients;
}

TEST(Server, a_client_that_asks_some_time_after_it_has_connected_is_answered_in_a_crowd) {
  Site site({.connection = Seconds(600)});
  const auto honest = site.connect();
  // A stranger at 1,700 connects a second makes 85 of them within the 50 ms that a tunnel or a browser takes.
  const auto crowd = silent_clients(site, 150);
  EXPECT_THAT(ask(honest), StartsWith("HTTP/1.1 200 "));
}

TEST(Server, of_those_that_have_not_asked_the_oldest_makes_room) {
  Site site({.connection = Seconds(600), .connections = 8});
  auto answered = site.begin_long();
  const auto crowd = silent_clients(site, 20);
  EXPECT_TRUE(is_closed(crowd.front()));
  EXPECT_FALSE(is_closed(crowd.back()));
  EXPECT_GT(rest_of(answered).size(), kLong) << "one that is being answered made room for strangers who say nothing";
}

TEST(Server, of_those_that_do_not_take_their_answer_the_oldest_makes_room) {
  Site site({.connection = Seconds(600), .untaken = 2});
  const auto first = site.begin_long(), second = site.begin_long(), third = site.begin_long();
  site.all_are_accepted();
  EXPECT_LT(rest_of(first).size(), kLong);
  EXPECT_GT(rest_of(second).size(), kLong);
  EXPECT_GT(rest_of(third).size(), kLong);
}

TEST(Server, the_process_keeps_three_quarters_of_its_descriptors) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 128, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  {
    Site site({.connection = Seconds(600)});
    const auto crowd = silent_clients(site, 40);
    EXPECT_TRUE(is_closed(crowd[0]));
    EXPECT_TRUE(is_closed(crowd[7]));
    EXPECT_FALSE(is_closed(crowd[9]));
  }
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace sumac::http
