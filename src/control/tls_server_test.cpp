#include "control/tls_server.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "control/endpoint.hpp"
#include "control/openssl.hpp"
#include "control/test_http2.hpp"
#include "control/test_pki.hpp"
#include "control/test_server.hpp"

namespace sumac::control {
namespace {

using namespace test;

/// A caller by OpenSSL itself, which sends what gRPC would not.
struct RawCaller {
  std::unique_ptr<SSL_CTX, SslDelete> context{SSL_CTX_new(TLS_client_method())};
  UniqueFd fd;
  std::unique_ptr<SSL, SslDelete> tls;

  RawCaller(const std::string& endpoint, const TlsFiles& files) : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const timeval limit{20, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    SSL_CTX_use_certificate_chain_file(context.get(), files.cert.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM);
    tls.reset(SSL_new(context.get()));
    SSL_set_fd(tls.get(), fd.get());
    constexpr unsigned char kHttp2[] = {2, 'h', '2'};
    SSL_set_alpn_protos(tls.get(), kHttp2, sizeof kHttp2);
    EXPECT_EQ(SSL_connect(tls.get()), 1);
  }
  bool send(const std::string& text) {
    return SSL_write(tls.get(), text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size());
  }
  /// Reads until the server closes the connection; false if it does not within 20 s.
  bool is_closed() {
    char bytes[4096];
    int got = 0;
    while ((got = SSL_read(tls.get(), bytes, sizeof bytes)) > 0) continue;
    const int error = SSL_get_error(tls.get(), got);
    ERR_clear_error();
    return error != SSL_ERROR_WANT_READ;
  }
};

TEST(TlsServer, a_certificate_holder_begins_no_message_that_is_too_long) {
  const TestPki pki;
  const auto tls = pki.tls(CertRole::manager, "am");
  const auto server = TlsServer::start("127.0.0.1:0", *tls, WhoService::make, nullptr);
  ASSERT_TRUE(server) << server.error().context;
  RawCaller caller((*server)->endpoint(), pki.files(CertRole::host, "h1"));
  ASSERT_TRUE(caller.send(preface() + frame(kSettings, 0, 0) + call(1) + begun(1, kMessageBytesMax + 1, 10)));
  EXPECT_TRUE(caller.is_closed());
  EXPECT_EQ(ask_who((*server)->endpoint(), pki.tls(CertRole::node, "an").get()), "node an") << "nobody else notices";
}

TEST(TlsServer, every_address_means_those_of_both_families) {
  const TestPki pki;
  const auto tls = pki.tls(CertRole::manager, "am");
  for (const auto* all : {"0.0.0.0:0", "[::]:0"}) {
    SCOPED_TRACE(all);
    const auto server = TlsServer::start(all, *tls, WhoService::make, nullptr);
    ASSERT_TRUE(server) << server.error().context;
    const auto port = (*server)->endpoint().substr((*server)->endpoint().rfind(':'));
    EXPECT_EQ(ask_who("127.0.0.1" + port, pki.tls(CertRole::node, "an").get()), "node an");
    if (std::filesystem::exists("/proc/net/if_inet6")) {
      EXPECT_EQ(ask_who("[::1]" + port, pki.tls(CertRole::node, "an").get()), "node an");
    }
  }
  for (const auto* none : {"203.0.113.1:0", "no-such-host.invalid:0"})
    EXPECT_EQ(TlsServer::start(none, *tls, WhoService::make, nullptr).error().code, Errc::io) << none;
}

TEST(TlsServer, many_callers_at_once_are_each_told_who_they_are) {
  const TestPki pki;
  const auto tls = pki.tls(CertRole::manager, "am");
  const auto server = TlsServer::start("127.0.0.1:0", *tls, WhoService::make, nullptr);
  ASSERT_TRUE(server) << server.error().context;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const auto name = fmt::format("h{}", t);
      const auto own = pki.tls(CertRole::host, name);
      for (int i = 0; i < 5; ++i) EXPECT_EQ(ask_who((*server)->endpoint(), own.get()), "host " + name);
    });
  for (auto& thread : threads) thread.join();
}

TEST(TlsServer, callers_that_never_shake_hands_keep_nobody_out) {
  const TestPki pki;
  const auto tls = pki.tls(CertRole::manager, "am");
  const auto server = TlsServer::start("127.0.0.1:0", *tls, WhoService::make, nullptr);
  ASSERT_TRUE(server) << server.error().context;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi((*server)->endpoint().substr((*server)->endpoint().rfind(':') + 1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 300; ++i) {
    silent.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(silent.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_EQ(ask_who((*server)->endpoint(), pki.tls(CertRole::node, "an").get()), "node an");
}

}  // namespace
}  // namespace sumac::control
