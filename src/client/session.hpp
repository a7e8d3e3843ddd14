#pragma once
// The process's conversation with its host's sharpd (src/wire/host.hpp): a unix SOCK_SEQPACKET socket, held as long as the job lives,
// because sharpd releases what a vanished process held. Calls block, each with a deadline; they happen at init and finalize only.
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/secret.hpp"
#include "client/status.hpp"
#include "net/unix_seqpacket.hpp"
#include "wire/host.hpp"

namespace sumac::client {

struct GrantedTree {
  wire::JobTreeBody tree;
  std::vector<wire::JobNodeEntry> nodes;  ///< Every node of the job's part of the tree.
  std::vector<std::uint32_t> host_leaf;   ///< Leaf node of each host, in the order of job_begin's hosts.
};
struct Grant {
  wire::JobGrantedBody job;
  std::vector<GrantedTree> trees;  ///< By their index; at least one.
};

class Session {
 public:
  /// SHARP_COLL_ESESS_INIT: nobody listens there, or it is no sharpd, or it does not answer in time.
  static Outcome<Session> attach(const std::string& path, const wire::AttachBody& who, Duration patience);

  const std::string& host() const { return host_; }        ///< As the manager knows this host.
  const std::string& devices() const { return devices_; }  ///< Its ports for programs that name none; empty: any.

  /// SHARP_COLL_EJOB_CREATE, SHARP_COLL_ENOTREE, SHARP_COLL_ETREE_INFO or SHARP_COLL_ESESS_INIT.
  Outcome<Grant> begin_job(std::uint64_t job_id, const wire::JobBeginBody& wish, const std::vector<std::string>& hosts,
                           Duration patience);
  /// This process is a rank of the job: should it end before leave(), sharpd tells the others of its death. Nothing is awaited; a
  /// sharpd that is gone costs that word and nothing else.
  void enter_job(std::uint64_t job_id, std::uint32_t world_rank, const Secret& key) noexcept;
  void leave_job(std::uint64_t job_id) noexcept;
  /// Should sharpd have been restarted since, the process attaches to the new one first.
  Outcome<> end_job(std::uint64_t job_id, Duration patience);

 private:
  Session(net::HostClient sharpd, std::string path, const wire::AttachBody& who)
      : sharpd_(std::move(sharpd)), path_(std::move(path)), who_(who) {}
  Result<wire::HostMessage> ask_end(std::uint64_t job_id, Time deadline);
  Outcome<> attach_again(Time deadline);
  Result<GrantedTree> receive_tree(std::uint32_t index, std::uint32_t hosts, std::uint64_t job_id, Time deadline);
  /// All entries of a list, `want` of them in order.
  template <class Entry>
  Result<std::vector<Entry>> receive_list(wire::HostKind kind, std::uint32_t want, std::uint64_t job_id, Time deadline);

  net::HostClient sharpd_;
  std::string path_;
  wire::AttachBody who_;
  std::string host_, devices_;
};

}  // namespace sumac::client
