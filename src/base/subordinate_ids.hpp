#pragma once
// The administrator gives each user tens of thousands of further uids for user namespaces (/etc/subuid). A share that
// each uid has would give such a user as many shares, so shares are counted by the person.
#include <sys/types.h>

#include <ctime>
#include <string>
#include <vector>

namespace sumac {

class SubordinateIds {
 public:
  explicit SubordinateIds(std::string path = "/etc/subuid") : path_(std::move(path)) {}

  /// Returns the user to whom `uid` was given, or `uid` itself. Never returns 0 for another uid: what root gives away
  /// to containers has no right of root's. A changed file is read again; a line that cannot be read is left out.
  uid_t owner_of(uid_t uid);

 private:
  struct Range {
    uid_t owner = 0, first = 0, count = 0;
  };
  void read();

  std::string path_;
  timespec read_at_{-1, 0};  ///< The time of the file's last change.
  std::vector<Range> ranges_;
};

}  // namespace sumac
