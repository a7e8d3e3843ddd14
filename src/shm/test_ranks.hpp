#pragma once
// For tests: ranks as threads, which share one mapping so that ThreadSanitizer sees the whole protocol, and ranks as
// forked processes, which attach as real ones do.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "shm/group.hpp"

namespace sumac::shm {

inline Shape small_shape(int members, std::vector<int> group_sizes = {}) {
  Shape shape;
  shape.members = members;
  shape.group_sizes = group_sizes.empty() ? std::vector<int>{members} : std::move(group_sizes);
  shape.eager_bytes = 1024;  // Small, so that small messages cross every threshold.
  shape.large_bytes = 32 * 1024;
  return shape;
}

inline std::vector<Member> everybody(int size) {
  std::vector<Member> members;
  for (int m = 0; m < size; ++m) members.push_back({m, 100 + m});
  return members;
}

inline Tuning tuning_for(const Shape& shape, int size) {
  return default_tuning(
      {.size = size, .crowded = true, .eager_bytes = shape.eager_bytes, .large_bytes = shape.large_bytes});
}

inline constexpr WaitSettings kTestWait{.ranks_on_host = 256, .cpus = 1};

/// Each rank's function gets the segment and its number, and returns "" or a description of the fault. The first fault
/// of all is returned.
using RankFunction = std::function<std::string(Segment& segment, int rank)>;

inline std::string run_threads(const Shape& shape, const RankFunction& function) {
  auto segment = Segment::create(shape, Backing::memfd);
  if (!segment) return segment.error().context;
  segment->all_attached();
  for (int m = 0; m < shape.members; ++m) segment->entry(m).process = this_process();
  std::mutex mutex;
  std::string fault;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < shape.members; ++rank) {
    threads.emplace_back([&, rank] {
      std::string said = function(*segment, rank);
      // The others would wait for a rank that has left.
      if (!said.empty()) segment->header().culprit.store(-(rank + 1));
      const std::lock_guard lock(mutex);
      if (fault.empty()) fault = std::move(said);
    });
  }
  for (auto& thread : threads) thread.join();
  return fault;
}

/// Writes all bytes or fails; enough for a pipe between our own processes.
inline bool write_all(int fd, const void* data, std::size_t bytes) {
  return ::write(fd, data, bytes) == static_cast<ssize_t>(bytes);
}
inline bool read_all(int fd, void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::read(fd, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

/// Returns the outcome of each rank: its text, or "signal 9".
inline std::vector<std::string> run_processes(
    const Shape& shape, Backing backing, const RankFunction& function, void (*before)(int rank) = [](int) {}) {
  struct Pipe {
    int ends[2] = {-1, -1};
    Pipe() { [[maybe_unused]] const int rc = ::pipe(ends); }
  };
  const auto n = static_cast<std::size_t>(shape.members);
  std::vector<Pipe> to(n), from(n);
  std::vector<pid_t> pids(n);
  for (std::size_t rank = 0; rank < n; ++rank) {
    pids[rank] = ::fork();
    if (pids[rank] != 0) continue;
    // Rank 0 creates; the parent forwards the handle and waits until every rank has attached.
    for (std::size_t r = 0; r < n; ++r) {
      if (r == rank) continue;
      for (const int fd : {to[r].ends[0], to[r].ends[1], from[r].ends[0], from[r].ends[1]}) ::close(fd);
    }
    ::close(to[rank].ends[1]);
    const int in = to[rank].ends[0], out = from[rank].ends[1];
    before(static_cast<int>(rank));
    const auto say = [&](const std::string& text) {
      const auto length = static_cast<std::uint32_t>(text.size());
      const bool said = write_all(out, &length, sizeof length) && write_all(out, text.data(), text.size());
      ::_exit(said ? 0 : 1);
    };
    Handle handle;
    char go = 0;
    Result<Segment> segment = fail(Errc::internal, "never");
    if (rank == 0) {
      segment = Segment::create(shape, backing);
      if (segment) handle = segment->handle();
      if (!write_all(out, &handle, sizeof handle)) ::_exit(1);
    } else if (read_all(in, &handle, sizeof handle)) {
      segment = Segment::attach(handle, shape, static_cast<int>(rank));
    }
    const char ok = segment ? 1 : 0;
    if (!write_all(out, &ok, 1) || !read_all(in, &go, 1)) ::_exit(1);
    if (!segment) say(segment.error().context);
    segment->all_attached();
    std::string text = go == 1 ? function(*segment, static_cast<int>(rank)) : "somebody could not attach";
    segment = fail(Errc::internal, "gone");
    say(text);
  }
  for (std::size_t rank = 0; rank < n; ++rank) {
    ::close(to[rank].ends[0]);
    ::close(from[rank].ends[1]);
  }
  Handle handle;
  char go = read_all(from[0].ends[0], &handle, sizeof handle) ? 1 : 0;
  for (std::size_t rank = 1; rank < n; ++rank) write_all(to[rank].ends[1], &handle, sizeof handle);
  for (std::size_t rank = 0; rank < n; ++rank) {
    char ok = 0;
    if (!read_all(from[rank].ends[0], &ok, 1) || ok == 0) go = 0;
  }
  for (std::size_t rank = 0; rank < n; ++rank) write_all(to[rank].ends[1], &go, 1);
  std::vector<std::string> texts(n);
  for (std::size_t rank = 0; rank < n; ++rank) {
    std::uint32_t length = 0;
    if (read_all(from[rank].ends[0], &length, sizeof length)) {
      texts[rank].resize(length);
      if (!read_all(from[rank].ends[0], texts[rank].data(), length)) texts[rank] = "half a text";
    }
    int status = 0;
    ::waitpid(pids[rank], &status, 0);
    if (WIFSIGNALED(status)) texts[rank] = fmt::format("signal {}", WTERMSIG(status));
    ::close(to[rank].ends[1]);
    ::close(from[rank].ends[0]);
  }
  return texts;
}

}  // namespace sumac::shm
