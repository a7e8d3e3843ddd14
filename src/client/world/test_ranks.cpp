#include "client/world/test_ranks.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <ctime>

namespace sumac::client::test {
namespace {

bool move_all(int fd, void* buffer, std::size_t bytes, bool out) {
  auto* at = static_cast<char*>(buffer);
  while (bytes > 0) {
    const ssize_t n = out ? ::send(fd, at, bytes, MSG_NOSIGNAL) : ::recv(fd, at, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

std::string read_file(int fd) {
  std::string text;
  ::lseek(fd, 0, SEEK_SET);
  char part[4096];
  for (ssize_t n; (n = ::read(fd, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(n));
  return text;
}

int anonymous_file() {
  char path[] = "/tmp/sumac-rank-XXXXXX";
  const int fd = ::mkostemp(path, O_CLOEXEC);
  ::unlink(path);
  return fd;
}

}  // namespace

int oob_gather(void* context, int root, void* mine, void* all, int length) {
  const auto& rank = *static_cast<Rank*>(context);
  const auto bytes = static_cast<std::size_t>(length);
  if (root != 0) return -1;
  if (rank.rank != 0) return move_all(rank.peer[0], mine, bytes, true) ? 0 : -1;
  std::memcpy(all, mine, bytes);
  for (int r = 1; r < rank.size; ++r)
    if (!move_all(rank.peer[static_cast<std::size_t>(r)], static_cast<char*>(all) + static_cast<std::size_t>(r) * bytes,
                  bytes, false))
      return -1;
  return 0;
}

int oob_bcast(void* context, void* buffer, int length, int root) {
  const auto& rank = *static_cast<Rank*>(context);
  const auto bytes = static_cast<std::size_t>(length);
  if (root != 0) return -1;
  if (rank.rank != 0) return move_all(rank.peer[0], buffer, bytes, false) ? 0 : -1;
  for (int r = 1; r < rank.size; ++r)
    if (!move_all(rank.peer[static_cast<std::size_t>(r)], buffer, bytes, true)) return -1;
  return 0;
}

int oob_barrier(void* context) {
  char byte = 0;
  std::vector<char> all(static_cast<std::size_t>(static_cast<Rank*>(context)->size));
  if (oob_gather(context, 0, &byte, all.data(), 1) != 0) return -1;
  return oob_bcast(context, &byte, 1, 0);
}

void Rank::barrier() { RANK_EQUAL(oob_barrier(this), 0); }

sharp_coll_init_spec Rank::init_spec(std::uint64_t job_id) {
  sharp_coll_init_spec spec;
  std::memset(&spec, 0xA5, sizeof spec);  // Fields that a client does not set are garbage.
  spec.job_id = job_id;
  spec.world_rank = rank;
  spec.world_size = size;
  spec.world_local_rank = 0;
  spec.progress_func = nullptr;
  spec.group_channel_idx = 0;
  spec.config = sharp_coll_default_config;
  spec.oob_colls = {oob_bcast, oob_barrier, oob_gather};
  spec.oob_ctx = this;
  spec.enable_thread_support = 0;
  return spec;
}

sharp_coll_context* Rank::init(std::uint64_t job_id) {
  auto spec = init_spec(job_id);
  sharp_coll_context* context = nullptr;
  RANK_EQUAL(sharp_coll_init(&spec, &context), 0);
  return context;
}

int Rank::try_comm(sharp_coll_context* context, sharp_coll_comm*& comm) {
  sharp_coll_comm_init_spec spec;
  std::memset(&spec, 0xA5, sizeof spec);  // group_world_ranks is garbage in a real client.
  spec.rank = rank;
  spec.size = size;
  spec.oob_ctx = this;
  comm = nullptr;
  const int status = sharp_coll_comm_init(context, &spec, &comm);
  RANK_CHECK((comm != nullptr) == (status == 0));
  return status;
}

sharp_coll_comm* Rank::comm(sharp_coll_context* context) {
  sharp_coll_comm* comm = nullptr;
  RANK_EQUAL(try_comm(context, comm), 0);
  return comm;
}

sumac_comm_info info_of(sharp_coll_comm* comm) {
  sumac_comm_info info{};
  info.struct_bytes = sizeof info;
  RANK_EQUAL(sumac_comm_query_info(comm, &info), 0);
  return info;
}

sumac_coll_stats stats_of(sharp_coll_context* context) {
  sumac_coll_stats stats{};
  stats.struct_bytes = sizeof stats;
  RANK_EQUAL(sumac_coll_query_stats(context, &stats), 0);
  return stats;
}

std::vector<Ended> run_ranks(const RanksConfig& config, const std::function<void(Rank&)>& body) {
  const auto size = static_cast<std::size_t>(config.size);
  std::vector<int> near(size, -1), far(size, -1), out(size), err(size);
  std::vector<pid_t> pids(size);
  for (std::size_t r = 0; r < size; ++r) {
    int pair[2];
    if (r > 0 && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) near[r] = pair[0], far[r] = pair[1];
    out[r] = anonymous_file();
    err[r] = anonymous_file();
  }
  for (std::size_t r = 0; r < size; ++r) {
    if ((pids[r] = ::fork()) != 0) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(out[r], STDOUT_FILENO);
    ::dup2(err[r], STDERR_FILENO);
    Rank rank{static_cast<int>(r), config.size, r == 0 ? near : std::vector<int>{far[r]}};
    for (std::size_t other = 1; other < size; ++other) {
      if (r != 0) ::close(near[other]);
      if (other != r) ::close(far[other]);
    }
    if (!config.sockets.empty())
      ::setenv("SHARP_COLL_SHARPD_SOCKET_NAME", config.sockets[r % config.sockets.size()].c_str(), 1);
    for (const auto& [name, value] : config.environment) ::setenv(name.c_str(), value.c_str(), 1);
    body(rank);
    std::_Exit(0);
  }
  for (std::size_t r = 1; r < size; ++r) ::close(near[r]), ::close(far[r]);
  if (config.meanwhile) config.meanwhile();

  std::vector<Ended> ended(size);
  const auto limit = std::chrono::steady_clock::now() + config.limit;
  for (std::size_t r = 0; r < size; ++r) {
    int status = 0;
    const int pidfd = static_cast<int>(::syscall(434 /* pidfd_open */, pids[r], 0));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now()).count();
    pollfd waiting{pidfd, POLLIN, 0};
    // Under valgrind there are no pidfds, and no rank is killed for being slow.
    if (pidfd >= 0 && ::poll(&waiting, 1, left > 0 ? static_cast<int>(left) : 0) == 0) ::kill(pids[r], SIGKILL);
    ::waitpid(pids[r], &status, 0);
    if (pidfd >= 0) ::close(pidfd);
    ended[r].status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ended[r].out = read_file(out[r]);
    ended[r].err = read_file(err[r]);
    ::close(out[r]);
    ::close(err[r]);
  }
  return ended;
}

std::string complaint(const std::vector<Ended>& ranks) {
  std::string text;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].status == 0 && ranks[r].out.empty()) continue;
    text += "rank " + std::to_string(r) + " ended with " + std::to_string(ranks[r].status) + "\n" + ranks[r].err;
    if (!ranks[r].out.empty()) text += "and wrote to stdout: " + ranks[r].out;
  }
  return text;
}

std::uint64_t new_job_id() {
  static std::atomic<std::uint64_t> count{0};
  // All 64 bits are used, as clients do.
  return 0xF000'0000'0000'0000u | static_cast<std::uint64_t>(::getpid()) << 32 | ++count;
}

}  // namespace sumac::client::test
