// Inspect between daemons: who is called proves who it is, and no call is left without an answer.
#include "control/inspect.hpp"

#include <gmock/gmock.h>
#include <poll.h>

#include <atomic>
#include <thread>

#include "control/test_pki.hpp"
#include "control/test_server.hpp"

namespace sumac::control {
namespace {

using testing::HasSubstr;

v1::JobDaemon host(const std::string& name, const std::string& address) {
  v1::JobDaemon daemon;
  daemon.set_role("host");
  daemon.set_name(name);
  daemon.set_address(address);
  return daemon;
}

/// A daemon that answers each call with its caller, or keeps the calls.
struct Daemon {
  WakeEvent wake = WakeEvent::make().value();
  InspectServer server{wake};
  std::vector<std::unique_ptr<InspectCall>> kept;
  bool keeps = false;
  std::atomic<bool> stopping = false;
  std::thread loop{[this] {
    while (!stopping) {
      pollfd wait{wake.fd(), POLLIN, 0};
      ::poll(&wait, 1, -1);
      wake.clear();
      for (auto& call : server.take()) {
        v1::InspectReply reply;
        reply.add_daemons()->set_name(call->caller().describe());
        if (keeps)
          kept.push_back(std::move(call));
        else
          call->answer(std::move(reply));
      }
    }
  }};
  ~Daemon() {
    stopping = true;
    wake.set();
    loop.join();
  }
};

/// Returns the answer in words.
std::string ask(const v1::JobDaemon& daemon, std::shared_ptr<Tls> tls, Duration at_most = Seconds(20)) {
  const auto wake = WakeEvent::make().value();
  InspectClients clients(wake, std::move(tls));
  clients.ask(7, daemon, {}, at_most);
  pollfd wait{wake.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 60'000), 1);
  const auto answers = clients.take();
  EXPECT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers.at(0).ticket, 7u);
  const auto& reply = answers.at(0).reply;
  return reply ? reply->daemons(0).name() : reply.error().context;
}

TEST(Inspect, each_side_proves_by_its_certificate_which_host_it_is) {
  const TestPki pki;
  Daemon daemon;
  const auto own = pki.tls(CertRole::host, "h1");
  const auto address = daemon.server.listen("127.0.0.1:0", {.tls = own.get()}).value();
  EXPECT_EQ(ask(host("h1", address), pki.tls(CertRole::host, "h2")), "host h2");
  EXPECT_THAT(ask(host("h3", address), pki.tls(CertRole::host, "h2")), HasSubstr("TLS: ")) << "h1 poses as h3";
  const TestPki other;
  EXPECT_THAT(ask(host("h1", address), other.tls(CertRole::host, "h2")), HasSubstr("TLS: "));
  EXPECT_NE(ask(host("h1", address), nullptr), "somebody without a certificate") << "clear text is not answered";
}

TEST(Inspect, a_host_is_not_taken_for_the_manager) {
  const TestPki pki;
  Daemon daemon;
  const auto own = pki.tls(CertRole::host, "sharp-am");
  const auto address = daemon.server.listen("127.0.0.1:0", {.tls = own.get()}).value();
  EXPECT_THAT(ask_who(address, pki.tls(CertRole::node, "n").get()), HasSubstr("TLS: "));
}

TEST(Inspect, what_cannot_be_called_has_an_answer_all_the_same) {
  EXPECT_THAT(ask(host("h1", ""), nullptr), HasSubstr("knows no address"));
  EXPECT_THAT(ask(host("..%", "127.0.0.1:1"), nullptr), HasSubstr("no legal name"));
  EXPECT_THAT(ask(host("h1", "unix:/nowhere/socket"), nullptr), HasSubstr("No such file"));
  EXPECT_THAT(ask(host("h1", "127.0.0.1:1"), nullptr), HasSubstr("refused"));
  Daemon silent;
  silent.keeps = true;
  const auto address = silent.server.listen("127.0.0.1:0", {}).value();
  EXPECT_THAT(ask(host("h1", address), nullptr, Millis(200)), HasSubstr("Deadline"));
  WakeEvent wake = WakeEvent::make().value();
  InspectClients ends(wake, nullptr);
  ends.ask(1, host("h1", address), {}, Seconds(1000));  // Its destructor waits for no answer.
}

TEST(Inspect, one_user_has_two_calls_open_at_a_time) {
  const TestDirectory directory;
  Daemon daemon;
  daemon.keeps = true;
  const auto endpoint = daemon.server.listen("unix:" + directory.path + "/inspect", {}).value();
  const auto wake = WakeEvent::make().value();
  InspectClients clients(wake, nullptr);
  for (std::uint64_t call = 0; call < kInspectCallsOfUser + 1; ++call)
    clients.ask(call, host("h1", endpoint), {}, Seconds(1000));
  pollfd wait{wake.fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 60'000), 1);
  const auto answers = clients.take();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0].reply.error().context, HasSubstr("try again"));
}

}  // namespace
}  // namespace sumac::control
