#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::tools {

/// As long as it lives, each line that this process and its children write to stderr is passed on, except lines for
/// which `unwanted` returns true. An unfinished line is passed on after a moment, so that a prompt is visible.
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
  UniqueFd real_;  ///< The original stderr.
  UniqueFd pipe_;
  UniqueFd stop_;
  std::string held_;
  std::thread thread_;
};

}  // namespace sumac::tools
