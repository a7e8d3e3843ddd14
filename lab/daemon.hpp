#pragma once
// One daemon of the lab: started in its place, its log in a file, its "ready" awaited, its end seen.
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "lab/daemons.hpp"
#include "lab/status.hpp"

namespace sumac::lab {

/// Where the daemons' logs lie while the lab is up; removed by `down`, kept when the lab was killed.
std::string log_directory(const std::string& lab_name);
/// Makes it. Errc::denied if somebody else has it.
Result<std::string> make_log_directory(const std::string& lab_name);

class Daemon {
 public:
  /// Starts it by way of its place's channel; it finds a descriptor to say "ready" on as number 3.
  static Result<Daemon> launch(const DaemonSpec& spec, int place_channel, const std::string& log_directory);

  const DaemonStatus& status() const { return status_; }
  bool is_ready() const { return ready_; }

  /// To be polled for reading (-1: nothing to hear any more), then told by hear_ready() and hear().
  int ready_fd() const { return ready_pipe_.get(); }
  int connection() const { return connection_.get(); }
  void hear_ready();
  void hear();

  void ask_to_end();
  /// Errc::lost: "sharp_an an-leaf1 at leaf1 WHAT; its last words: ...".
  tl::unexpected<Error> blame(const std::string& what) const;

 private:
  UniqueFd connection_;
  UniqueFd ready_pipe_;
  bool ready_ = false;
  DaemonStatus status_;
};

}  // namespace sumac::lab
