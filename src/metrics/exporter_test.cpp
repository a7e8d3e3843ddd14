#include "metrics/exporter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/test_folder.hpp"
#include "base/unix_address.hpp"
#include "control/test_pki.hpp"
#include "http/test_client.hpp"

namespace sumac::metrics {
namespace {

using http::test::connect_to;
using http::test::rest_of;
using http::test::say;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kRequest = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A daemon's loop: it answers each wake-up with a page whose number counts the pages.
class Loop {
 public:
  explicit Loop(const Options& options, const ExporterLimits& limits = {}, bool answers = true)
      : wake_(control::WakeEvent::make().value()) {
    auto started = Exporter::start(
        options, [this] { wake_.set(); }, limits);
    EXPECT_TRUE(started) << started.error().context;
    exporter_ = *std::move(started);
    if (answers) thread_ = std::thread([this] { run(); });
  }
  ~Loop() {
    ending_ = true;
    wake_.set();
    if (thread_.joinable()) thread_.join();
  }
  Exporter& exporter() { return *exporter_; }
  void end_exporter() { exporter_.reset(); }
  std::uint16_t port() const { return http::test::port_of(exporter_->address()); }

 private:
  void run() {
    while (!ending_) {
      pollfd fd{wake_.fd(), POLLIN, 0};
      ::poll(&fd, 1, -1);
      wake_.clear();
      if (!exporter_ || !exporter_->wanted()) continue;
      Page page;
      page.counter("sumac_pages_total", "Pages so far.").value(++pages_);
      exporter_->answer(page);
    }
  }
  control::WakeEvent wake_;
  std::unique_ptr<Exporter> exporter_;
  std::uint64_t pages_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

std::string get(std::uint16_t port, std::string_view request = kRequest) {
  const auto fd = connect_to(port);
  say(fd, request);
  return rest_of(fd);
}

TEST(Exporter, no_address_opens_no_port_and_starts_no_thread) {
  const auto none = Exporter::start({}, [] {});
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
}

TEST(Exporter, each_request_gets_a_page_of_its_own) {
  Loop loop({.listen = "127.0.0.1:0"});
  for (int i = 1; i <= 3; ++i) {
    const auto answer = get(loop.port());
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\n\r\n# HELP sumac_pages_total Pages so far.\n"));
    EXPECT_THAT(answer, HasSubstr("\nsumac_pages_total " + std::to_string(i) + "\n"));
  }
}

TEST(Exporter, anything_else_gets_an_answer_that_says_so_and_no_page) {
  Loop loop({.listen = "127.0.0.1:0"});
  const struct {
    const char* request;
    const char* answer;
  } rows[] = {
      {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404 "},
      {"GET /metrics/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404 "},
      {"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", "HTTP/1.1 4"},
      {"nonsense\r\n\r\n", "HTTP/1.1 400 "},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.request);
    const auto answer = get(loop.port(), row.request);
    EXPECT_THAT(answer, StartsWith(row.answer));
    EXPECT_THAT(answer, testing::Not(HasSubstr("sumac_pages_total")));
  }
  EXPECT_EQ(get(loop.port(), std::string(10'000, 'x')), "") << "longer than any request: no answer";
  EXPECT_THAT(get(loop.port()), HasSubstr("sumac_pages_total 1\n"));
}

TEST(Exporter, slow_clients_hold_nobody_up) {
  Loop loop({.listen = "127.0.0.1:0"}, {.connection = Seconds(600), .connections = 8});
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 20; ++i) {  // More than there is room for: each takes the place of the oldest.
    slow.push_back(connect_to(loop.port()));
    say(slow.back(), "GET /metrics HT");
    EXPECT_THAT(get(loop.port()), HasSubstr("sumac_pages_total"));
  }
  EXPECT_EQ(rest_of(slow.front()), "") << "the oldest was closed";
  say(slow.back(), "TP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(rest_of(slow.back()), HasSubstr("sumac_pages_total")) << "a slow one is served once its request is whole";
}

TEST(Exporter, a_client_that_never_ends_its_request_is_closed_in_time) {
  Loop loop({.listen = "127.0.0.1:0"}, {.connection = Millis(50)});
  const auto slow = connect_to(loop.port());
  say(slow, "GET /metrics HT");
  EXPECT_EQ(rest_of(slow), "");
}

TEST(Exporter, a_loop_that_stands_still_is_reported) {
  Loop loop({.listen = "127.0.0.1:0"}, {.loop = Millis(20)}, false);
  EXPECT_THAT(get(loop.port()), StartsWith("HTTP/1.1 503 "));
  Page late;
  late.gauge("late", "Late.").value(1);
  loop.exporter().answer(late);  // Nobody waits for it any more.
  EXPECT_FALSE(loop.exporter().wanted());
}

TEST(Exporter, a_request_at_the_end_of_the_daemon_is_harmless) {
  Loop loop({.listen = "127.0.0.1:0"}, {.loop = Seconds(600)}, false);
  const auto client = connect_to(loop.port());
  say(client, kRequest);
  while (!loop.exporter().wanted()) ::poll(nullptr, 0, 1);
  loop.end_exporter();
  EXPECT_THAT(rest_of(client), StartsWith("HTTP/1.1 503 "));
}

TEST(Exporter, a_token_is_demanded_where_one_is_set) {
  const TestFolder folder("metrics");
  const std::string token = "0123456789abcdef0123";
  Loop loop({.listen = "127.0.0.1:0", .token = folder.write("token", token + "\n")});
  const auto with = [&](const std::string& line) {
    return get(loop.port(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + line + "\r\n");
  };
  for (const auto& wrong :
       {std::string(), std::string("Authorization: Bearer\r\n"), "Authorization: Bearer " + token + "0\r\n",
        "Authorization: Basic " + token + "\r\n", "Authorization: Bearer " + token.substr(1) + "\r\n"}) {
    const auto answer = with(wrong);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 401 ")) << wrong;
    EXPECT_THAT(answer, testing::Not(HasSubstr("sumac_pages_total"))) << wrong;
  }
  EXPECT_THAT(with("Authorization: Bearer " + token + "\r\n"), HasSubstr("sumac_pages_total 1\n"));
}

TEST(Exporter, a_unix_socket_serves_and_goes_with_the_daemon) {
  const TestFolder folder("metrics");
  const auto path = folder.path + "/run/metrics.sock";
  const auto get_there = [&] {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = unix_address(path).value();
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    say(fd, kRequest);
    return rest_of(fd);
  };
  {
    Loop loop({.listen = "unix:" + path});
    EXPECT_THAT(get_there(), HasSubstr("sumac_pages_total 1\n"));
    const auto second = Exporter::start({.listen = "unix:" + path}, [] {});
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().context, HasSubstr("another process listens there: name another path"));
    EXPECT_THAT(get_there(), HasSubstr("sumac_pages_total 2\n"));
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  // A daemon that was killed leaves its socket behind.
  UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = unix_address(path).value();
  ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  dead.reset();
  Loop loop({.listen = "unix:" + path});
  EXPECT_THAT(get_there(), HasSubstr("sumac_pages_total 1\n"));
}

/// Asks by TLS for a server that this authority certifies.
std::string get_by_tls(std::uint16_t port, const std::string& ca, const std::string& line) {
  const std::unique_ptr<SSL_CTX, http::TlsDelete> context(SSL_CTX_new(TLS_client_method()));
  EXPECT_EQ(SSL_CTX_load_verify_locations(context.get(), ca.c_str(), nullptr), 1);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const std::unique_ptr<SSL, http::TlsDelete> ssl(SSL_new(context.get()));
  const auto fd = connect_to(port);
  SSL_set_fd(ssl.get(), fd.get());
  if (SSL_connect(ssl.get()) != 1) return "no handshake";
  const auto request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + line + "\r\n";
  EXPECT_EQ(SSL_write(ssl.get(), request.data(), static_cast<int>(request.size())), static_cast<int>(request.size()));
  std::string text;
  char bytes[4096];
  for (int got; (got = SSL_read(ssl.get(), bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(got));
  EXPECT_NE(SSL_get_shutdown(ssl.get()) & SSL_RECEIVED_SHUTDOWN, 0) << "the end of the answer was not proven";
  return text;
}

TEST(Exporter, other_machines_come_by_tls_with_the_token) {
  const TestFolder folder("metrics");
  const control::TestPki pki, other;
  const auto files = pki.files(control::CertRole::manager, "am");
  const std::string token = "0123456789abcdef0123";
  Loop loop({.listen = "0.0.0.0:0", .cert = files.cert, .key = files.key, .token = folder.write("token", token)});
  const auto bearer = "Authorization: Bearer " + token + "\r\n";
  // A client that never ends its handshake.
  const auto slow = connect_to(loop.port());
  say(slow, "\x16\x03");
  EXPECT_THAT(get_by_tls(loop.port(), files.ca, bearer), HasSubstr("sumac_pages_total 1\n"));
  EXPECT_THAT(get_by_tls(loop.port(), files.ca, ""), StartsWith("HTTP/1.1 401 "));
  EXPECT_EQ(get_by_tls(loop.port(), other.path + "/ca.crt", bearer), "no handshake");
  EXPECT_THAT(get(loop.port(), "GET /metrics HTTP/1.1\r\n" + bearer + "\r\n"), testing::Not(HasSubstr("sumac_pages")));
  EXPECT_THAT(get_by_tls(loop.port(), files.ca, bearer), HasSubstr("sumac_pages_total 2\n"));
}

TEST(Exporter, says_when_the_certificate_ends_and_what_the_process_uses) {
  std::optional<std::time_t> end;
  Loop loop({.listen = "127.0.0.1:0", .certificate_end = [&end] { return end; }});
  EXPECT_THAT(get(loop.port(), kRequest), testing::Not(HasSubstr("\nsumac_certificate_end_seconds ")));
  end = 1234567890;
  const auto page = get(loop.port(), kRequest);
  EXPECT_THAT(page, HasSubstr("\nsumac_certificate_end_seconds 1234567890\n"));
  EXPECT_THAT(page, HasSubstr("\nprocess_resident_memory_bytes "));
}

TEST(Exporter, a_key_that_can_not_be_used_is_told_with_its_option) {
  const TestFolder folder("metrics");
  const control::TestPki pki;
  const auto files = pki.files(control::CertRole::manager, "am"), second = pki.files(control::CertRole::manager, "bm");
  const struct {
    const char* name;
    std::string cert, key;
    std::string says;
  } rows[] = {
      {"a key that others can read", files.cert, pki.file("open.key", "x", 0644), "--metrics-key"},
      {"another certificate's key", files.cert, second.key, "--metrics-key"},
      {"no certificate", folder.write("none.crt", "x"), files.key, "--metrics-cert"},
      {"no file", folder.path + "/nowhere.crt", files.key, "--metrics-cert"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto refused = Exporter::start({.listen = "127.0.0.1:0", .cert = row.cert, .key = row.key}, [] {});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().context, StartsWith(row.says));
  }
}

TEST(Exporter, an_address_that_can_not_be_used_is_told_with_the_remedy) {
  const TestFolder folder("metrics");
  Loop taken({.listen = "127.0.0.1:0"});
  const auto good_token = folder.write("token", "0123456789abcdef\n");
  const struct {
    const char* name;
    Options options;
    Errc code;
    std::string says;
  } rows[] = {
      {"no port", {.listen = "127.0.0.1"}, Errc::invalid, "give 127.0.0.1:PORT"},
      {"a port that is none", {.listen = "127.0.0.1:95000"}, Errc::invalid, "give 127.0.0.1:PORT"},
      {"a name", {.listen = "node7:9500"}, Errc::invalid, "ADDRESS:PORT in numbers"},
      {"all addresses in clear text",
       {.listen = "0.0.0.0:9500"},
       Errc::denied,
       "other machines reach this address: give --metrics-cert, --metrics-key and --metrics-token with it, or listen "
       "at 127.0.0.1:9500 or unix:PATH"},
      {"the same in version 6", {.listen = "[::]:9500"}, Errc::denied, "other machines reach this address"},
      {"a token is not enough",
       {.listen = "0.0.0.0:9500", .token = good_token},
       Errc::denied,
       "other machines reach this address"},
      {"a certificate without its key", {.listen = "127.0.0.1:0", .cert = "x"}, Errc::invalid, "give both"},
      {"a port that is taken",
       {.listen = taken.exporter().address()},
       Errc::exists,
       "another process has this port (`ss -ltnp` shows it): choose another port"},
      {"a token that is missing",
       {.listen = "127.0.0.1:0", .token = folder.path + "/none"},
       Errc::io,
       "--metrics-token"},
      {"a token that others can read",
       {.listen = "127.0.0.1:0", .token = folder.write("open", "0123456789abcdef", 0644)},
       Errc::denied,
       "chmod 600 it"},
      {"a short token",
       {.listen = "127.0.0.1:0", .token = folder.write("short", "secret\n")},
       Errc::invalid,
       "openssl rand -hex 32"},
      {"a path that is too long", {.listen = "unix:/" + std::string(200, 'x')}, Errc::invalid, "at most 107 bytes"},
      {"a file that is no socket", {.listen = "unix:" + folder.write("file", "x")}, Errc::exists, "no socket"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto refused = Exporter::start(row.options, [] {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, row.code) << refused.error().context;
    EXPECT_THAT(refused.error().context, HasSubstr(row.says));
    EXPECT_THAT(refused.error().context, HasSubstr("--metrics-"));
    EXPECT_THAT(refused.error().context, testing::Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace sumac::metrics
