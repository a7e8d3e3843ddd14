#pragma once
// One daemon of the lab: it is started in its namespace, its log goes to a file, the lab waits for its "ready" and
// notices its end.
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "lab/daemons.hpp"
#include "lab/status.hpp"

namespace sumac::lab {

/// Returns the directory of the daemons' logs while the lab is up; `down` removes it, and it stays when the lab was
/// killed.
std::string log_directory(const std::string& lab_name);
/// Makes the directory. Errc::denied if it belongs to another user.
Result<std::string> make_log_directory(const std::string& lab_name);

class Daemon {
 public:
  /// Starts it through its namespace's channel; it gets a descriptor with the number 3 to write "ready" to.
  /// @param log_flag  O_TRUNC for a new log, 0 to go on with the old one.
  static Result<Daemon> launch(const DaemonSpec& spec, int place_channel, const std::string& log_directory,
                               int log_flag);

  const DaemonStatus& status() const { return status_; }
  bool is_ready() const { return ready_; }

  /// The caller polls these two for reading (-1: nothing more will come), then calls hear_ready() and hear().
  int ready_fd() const { return ready_pipe_.get(); }
  int connection() const { return connection_.get(); }
  void hear_ready();
  void hear();

  /// Does nothing if it is gone already.
  void signal(int number);
  /// Returns Errc::lost: "sharp_an an-leaf1 at leaf1 WHAT; its last words: ...".
  tl::unexpected<Error> blame(const std::string& what) const;

 private:
  UniqueFd connection_;
  UniqueFd ready_pipe_;
  bool ready_ = false;
  DaemonStatus status_;
};

}  // namespace sumac::lab
