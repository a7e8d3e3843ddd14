#pragma once
// Clients that ask a manager's page what a browser asks, as often: the overview each second, and then what has changed.
// One thread plays all of them, and reads the answers without making anything of them.
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace sumac::bench {

class PageClients {
 public:
  /// `port` is on loopback; `host` is what the Host header must say.
  PageClients(std::uint16_t port, std::string host, std::string token, std::size_t count);
  ~PageClients();

  /// While they rest, they ask nothing.
  void rest(bool resting) { resting_ = resting; }
  std::uint64_t answers() const { return answers_; }
  /// The first thing that went wrong; empty: nothing.
  std::string failure() const;

 private:
  struct Client {
    Time due{};
    std::map<std::string, std::string> tags;  ///< The ETag of each path.
    std::string versions;
  };
  void run();
  void ask(Client& client);
  /// Returns the body; empty if it has not changed.
  Result<std::string> get(Client& client, const std::string& path);

  std::uint16_t port_;
  std::string host_;
  std::string token_;
  std::vector<Client> clients_;
  std::atomic<bool> resting_ = true, ending_ = false;
  std::atomic<std::uint64_t> answers_ = 0;
  std::string failure_;  ///< Read after the thread has ended, or while it rests.
  std::thread thread_;
};

}  // namespace sumac::bench
