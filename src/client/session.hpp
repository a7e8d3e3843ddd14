#pragma once
// The process's conversation with its host's sharpd (src/wire/host.hpp): a unix SOCK_SEQPACKET socket, open as long as
// the job lives, because sharpd releases the resources of a process that vanished. Calls block, each with a deadline;
// they happen only at init and finalize.
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/secret.hpp"
#include "client/grant.hpp"
#include "client/patience.hpp"
#include "client/status.hpp"
#include "net/unix_seqpacket.hpp"
#include "wire/host.hpp"

namespace sumac::client {

class Session {
 public:
  /// SHARP_COLL_ESESS_INIT: nobody listens there, it is no sharpd, or it does not answer in time.
  static Outcome<Session> attach(const std::string& path, const wire::AttachBody& who, Duration patience);

  const std::string& host() const { return host_; }  ///< The name by which the manager knows this host.
  const std::string& devices() const {
    return devices_;
  }  ///< The host's ports for programs that name none; empty:
     ///< any.

  /// Returns the messages of a grant that GrantReader reads as a whole. Fails with SHARP_COLL_EJOB_CREATE or
  /// SHARP_COLL_ESESS_INIT.
  Outcome<std::vector<wire::HostMessage>> begin_job(JobId job_id, const wire::JobBeginBody& begin,
                                                    const std::vector<std::string>& hosts, Duration longest);
  /// Announces that this process is a rank of the job: if it ends before leave_job(), sharpd reports its death to the
  /// others. It waits for no answer; if sharpd is gone, only this announcement is lost.
  /// `hears_deaths`: next_word() is used.
  void enter_job(JobId job_id, WorldRank world_rank, const Secret& key, bool hears_deaths) noexcept;
  /// The next of what sharpd says unasked: rank_died, or a message of the grant of trees that the job has again. Errc::timeout:
  /// none at the moment.
  Result<wire::HostMessage> next_word(JobId job_id);
  int fd() const noexcept { return sharpd_.fd(); }
  /// The trees of that JobGrantedBody::times_again are of no use: sharpd asks the manager for others, which come as next_word().
  void want_trees(JobId job_id, std::uint32_t times_again) noexcept;
  /// If sharpd has been restarted: attaches to the new one, and then as enter_job(), with `hears_deaths`.
  Outcome<> enter_again(JobId job_id, WorldRank world_rank, const Secret& key, Duration longest);
  void leave_job(JobId job_id) noexcept;
  /// If sharpd has been restarted since, the process first attaches to the new one.
  Outcome<> end_job(JobId job_id, Duration longest);

 private:
  Session(net::HostClient sharpd, std::string path, const wire::AttachBody& who)
      : sharpd_(std::move(sharpd)), path_(std::move(path)), who_(who) {}
  static Outcome<Session> attach(const std::string& path, const wire::AttachBody& who, const Patience& patience);
  Result<> send(const wire::HostMessage& message, const Patience& patience);
  Result<wire::HostMessage> receive(const Patience& patience);
  Result<wire::HostMessage> ask_end(JobId job_id, const Patience& patience);
  Outcome<> attach_again(const Patience& patience);

  net::HostClient sharpd_;
  std::string path_;
  wire::AttachBody who_;
  std::string host_, devices_;
};

}  // namespace sumac::client
