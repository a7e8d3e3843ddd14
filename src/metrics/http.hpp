#pragma once
// HTTP without sockets: a whole request in, a whole answer out. Only http.cpp includes cpp-httplib, which takes seconds
// to compile.
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sumac::metrics {

class Http {
 public:
  /// `read` returns the page, or nothing while the daemon's loop does not answer. Without `token` nobody needs one.
  Http(std::string token, std::function<std::optional<std::string>()> read);
  ~Http();

  /// Never throws; a request that is none gets an answer that says so.
  std::string answer(const std::string& request);

 private:
  struct Routes;
  std::unique_ptr<Routes> routes_;
};

}  // namespace sumac::metrics
