#pragma once
// The real sharp_am as a child: started on a port of loopback that it keeps over restarts, killed without warning,
// measured.
#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/daemon.hpp"

namespace sumac::bench {

class ManagerProcess {
 public:
  /// A scratch directory with the fabric file, the state and the log; removed at the end.
  static Result<ManagerProcess> make(std::string program, const std::string& fabric, std::vector<std::string> options);
  ManagerProcess(ManagerProcess&& other) noexcept;
  ManagerProcess& operator=(ManagerProcess&&) = delete;
  ~ManagerProcess();

  /// Waits until it reports that it is ready.
  Result<> start();
  void kill();  ///< Sends SIGKILL.
  /// Sends SIGSTOP or SIGCONT.
  void signal(int number) const;

  const std::string& endpoint() const noexcept { return endpoint_; }
  Result<nlohmann::json> status() const;
  std::uint64_t resident_bytes() const;
  /// Returns the end of its log, for a failure's text.
  std::string log_tail() const;

 private:
  ManagerProcess() = default;
  std::string program_, directory_, endpoint_;
  std::vector<std::string> options_;
  std::optional<launch::Daemon> daemon_;
};

}  // namespace sumac::bench
