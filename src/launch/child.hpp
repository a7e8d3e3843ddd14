#pragma once
// A command of `sumac` that serves this process and ends with it: a conversation by lines over its standard input and
// output (tools/run/talk.hpp describes them).
#include <sys/types.h>

#include <functional>
#include <string>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::launch {

class Child {
 public:
  Child() = default;
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child() { end(); }

  /// `name` is the command's, for errors. Its errors go to our stderr; Ctrl-C at the terminal does not reach it.
  static Result<Child> start(const std::string& program, const std::string& name);

  /// "parent PID", for the command's settings.
  static std::string parent_line();
  Result<> write(std::string_view text);
  /// Returns the lines in front of the line `end`, with their newlines. Errc::lost: the command failed, with its reason;
  /// Errc::timeout; and the error of `check`, which is called now and then.
  Result<std::string> read_until(std::string_view end, Time deadline, const std::function<Result<>()>& check);
  bool is_running() const noexcept { return pid_ > 0; }
  /// Tells it to take down what it has started, and waits for its end, but not for ever.
  void end();
  /// Forgets it, as a fork's child must.
  void forget() noexcept;

 private:
  Result<> await(Time deadline, const std::function<Result<>()>& check);

  std::string name_, said_;
  bool is_silent_ = false;  ///< It did not answer in time, and is not worth waiting for.
  pid_t pid_ = -1;
  UniqueFd in_, out_, life_;  ///< Its standard input and output, and a descriptor that becomes readable when it ends.
};

}  // namespace sumac::launch
