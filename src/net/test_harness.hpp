#pragma once
// For tests of both backends: an end that records its events, and a loop that drives several ends without sleeping
// through a message. It waits on their wake-up descriptors, so each wait of each test also checks that no wake-up is
// lost.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "net/transport.hpp"

namespace sumac::net {

/// This is long enough for a slow machine under a sanitizer; a test that needs all of it has failed.
inline constexpr Seconds kPatience{20};

/// A variable of the environment for one test: UCX reads its variables whenever a transport is made.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

class End : public TransportEvents {
 public:
  explicit End(const TransportConfig& config, std::size_t pool_bytes = 256u << 20) : pool(pool_bytes) {
    auto made = make_transport(config, pool);
    if (!made) throw std::runtime_error(made.error().context);
    transport = std::move(*made);
  }

  void on_accepted(ConnId conn) override { accepted.push_back(conn); }
  void on_connected(ConnId conn) override { connected.push_back(conn); }
  void on_message(ConnId conn, BufferRef frame) override {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame.data()) % 64, 0u);
    if (on_frame) return on_frame(conn, std::move(frame));
    messages[conn.value].emplace_back(reinterpret_cast<const char*>(frame.data()), frame.size());
    ++received;
  }
  void on_closed(ConnId conn, const Error& why) override {
    EXPECT_EQ(closed.count(conn.value), 0u) << "closed twice";
    closed[conn.value] = why;
  }
  void on_writable(ConnId conn) override { writable.push_back(conn); }

  std::size_t progress(std::size_t budget = 64) { return transport->progress(*this, budget); }
  Errc send(ConnId conn, std::string_view head, std::string_view body = {}) {
    return transport->send(conn, as_bytes(head), Payload{as_bytes(body), {}});
  }
  ConnId connect(const std::string& address) {
    auto conn = transport->connect(address);
    if (!conn) throw std::runtime_error(conn.error().context);
    return *conn;
  }
  const std::vector<std::string>& from(ConnId conn) { return messages[conn.value]; }

  BufferPool pool;
  std::vector<ConnId> accepted, connected, writable;
  std::map<std::uint32_t, Error> closed;
  std::map<std::uint32_t, std::vector<std::string>> messages;
  std::size_t received = 0;
  std::function<void(ConnId, BufferRef)> on_frame;
  std::unique_ptr<Transport> transport;  // The last member, because it must be destroyed before the pool that it uses.
};

/// Drives all ends until `done`, sleeping on their descriptors whenever all of them agree. Returns false after
/// kPatience.
inline bool drive(std::vector<End*> ends, const std::function<bool()>& done, Duration patience = kPatience) {
  const Time deadline = monotonic_now() + patience;
  while (!done()) {
    if (monotonic_now() > deadline) return false;
    std::size_t events = 0;
    for (End* end : ends) events += end->progress();
    if (events > 0 || done()) continue;
    std::vector<pollfd> fds;
    Time due = deadline;
    bool may_sleep = true;
    for (End* end : ends) {
      may_sleep = end->transport->arm() && may_sleep;
      fds.push_back({end->transport->wake_fd(), POLLIN, 0});
      due = std::min(due, end->transport->next_due());
    }
    if (!may_sleep) continue;
    const auto wait = std::chrono::duration_cast<Millis>(due - monotonic_now()).count() + 1;
    poll(fds.data(), fds.size(), static_cast<int>(std::max<std::int64_t>(wait, 0)));
  }
  return true;
}

/// Returns the contents of a message with this size and number: no two are alike, so that a mix-up is found.
inline std::string pattern(std::size_t bytes, std::uint32_t number) {
  std::string text(bytes, '\0');
  std::uint32_t x = number * 2654435761u + 1;
  for (auto& c : text) {
    x = x * 1664525u + 1013904223u;
    c = static_cast<char>(x >> 24);
  }
  return text;
}

}  // namespace sumac::net
