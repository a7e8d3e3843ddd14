#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::tools {

/// While it lives, what this process and those it starts write to stderr passes line by line, but for lines that `unwanted`
/// names. A line that is not finished is passed on after a moment, so that a prompt is seen.
class StderrFilter {
 public:
  static Result<std::unique_ptr<StderrFilter>> start(std::function<bool(std::string_view line)> unwanted);
  ~StderrFilter();
  StderrFilter(const StderrFilter&) = delete;
  StderrFilter& operator=(const StderrFilter&) = delete;

 private:
  StderrFilter() = default;
  void run();
  void pass(bool unfinished_too);

  std::function<bool(std::string_view)> unwanted_;
  UniqueFd real_;  ///< stderr as it was.
  UniqueFd pipe_;
  UniqueFd stop_;
  std::string held_;
  std::thread thread_;
};

}  // namespace sumac::tools
