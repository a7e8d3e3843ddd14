#pragma once
// A lab for the time of one measurement.
#include <sys/types.h>

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::tools {

/// `sumac lab up --foreground` as a child that ends when this process does, however it ends; the lab goes with it.
class LabSession {
 public:
  /// Returns when the lab is up. Errc::lost: it did not come up, and has said why on stderr. Errc::interrupted:
  /// `interrupt_fd` became readable.
  static Result<LabSession> start(const std::string& sumac, const std::string& fabric, int interrupt_fd);
  LabSession(LabSession&& other) noexcept;
  LabSession& operator=(LabSession&&) = delete;
  ~LabSession();

  const std::string& name() const noexcept { return name_; }

 private:
  LabSession(std::string name, pid_t pid, UniqueFd out);
  std::string name_;
  pid_t pid_ = -1;
  UniqueFd out_;  ///< Its standard output, kept open so that it can write.
};

}  // namespace sumac::tools
