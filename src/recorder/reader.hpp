#pragma once
// The reader's side: the pages of other processes. A page is another process's word, so every field is checked.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/page.hpp"

namespace sumac::recorder {

struct Operation {
  std::uint64_t number = 0;  ///< Counts in its communicator, from 1 on.
  std::uint32_t what = 0;
  std::uint64_t bytes = 0;
};

struct TrackView {
  std::uint64_t id = 0;
  std::string name;
  int rank = 0, size = 0;
  std::uint64_t begun = 0, ended = 0;  ///< Operations.
  /// CLOCK_MONOTONIC at the begin of the newest operation; where `is_exact` is false it began somewhat later than that.
  std::int64_t since_ns = 0;
  bool is_exact = false;
  std::vector<int> missing;       ///< Ranks that have not begun the newest operation, as far as the process heard.
  std::vector<Operation> newest;  ///< The newest operations, the newest first.

  bool is_inside() const noexcept { return ended < begun; }
};

struct PageView {
  int pid = 0, world_rank = -1, world_size = 0;
  std::uint64_t job = 0;
  std::int64_t since_ns = 0;  ///< CLOCK_REALTIME.
  unsigned unlisted = 0;
  std::vector<TrackView> tracks{};
  std::uint64_t on_tree = 0, among_members = 0;  ///< As in PageHeader.
};

/// Returns nothing if the bytes are no page.
std::optional<PageView> decode(std::span<const std::byte> bytes);

/// A process with a page.
struct Process {
  int pid = 0;
  unsigned uid = 0;
  char state = '?';     ///< As in /proc/PID/stat: R runs, S and D sleep, T and t are stopped, Z is dead.
  std::string program;  ///< The name of its program.
  PageView page;
};

struct Found {
  std::vector<Process> processes;
  unsigned hidden = 0;  ///< Processes that this user may not look into.
};

/// Returns the page behind a descriptor that another process has handed over, without its unused tracks, for decode_packed().
/// Nothing: the descriptor is none of shared memory, so that reading it could wait, or there is no page.
std::optional<std::string> packed(int fd);
/// Returns nothing if the bytes are none of packed().
std::optional<PageView> decode_packed(std::string_view bytes);

/// Fills in what /proc shows of the process: its state and its program.
void describe(Process& process);

/// Looks for the pages of all processes that this user may look into.
Found find_pages();
/// Reads the page of one of them again; nothing: it is gone.
std::optional<PageView> read_again(const Process& process);

}  // namespace sumac::recorder
