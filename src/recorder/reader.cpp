#include "recorder/reader.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/fd.hpp"
#include "base/utf8.hpp"

namespace sumac::recorder {
namespace {

template <std::size_t n>
std::string text_of(const std::array<char, n>& field) {
  return printable({field.data(), ::strnlen(field.data(), n)});  // It goes to a terminal.
}

/// The numbers of a page that is being written may not fit together: a track that makes no sense is left out.
std::optional<TrackView> view_of(const TrackMemory& track) {
  if (track.is_used != 1 || track.size < 1 || track.rank < 0 || track.rank >= track.size) return std::nullopt;
  TrackView view{.id = track.id, .name = text_of(track.name), .rank = track.rank, .size = track.size};
  view.begun = track.begun / kStep;
  view.ended = std::min(view.begun, (track.ended + track.passed) / kStep);
  view.since_ns = track.stamp_ns;
  view.is_exact = track.stamp_begun == track.begun;
  if (!view.is_exact && track.wait_begun == track.begun && track.wait_ns >= view.since_ns) {
    view.since_ns = track.wait_ns;
    view.is_exact = true;
  }
  if (track.missing_begun == track.begun)
    for (std::size_t i = 0; i < std::min<std::size_t>(kMissingMax, track.missing_count); ++i)
      if (track.missing[i] >= 0 && track.missing[i] < view.size) view.missing.push_back(track.missing[i]);
  for (std::uint64_t back = 1; back <= std::min<std::uint64_t>(kEntries, view.begun); ++back) {
    const Entry& entry = track.ring[(view.begun - back) % kEntries];
    view.newest.push_back({view.begun - back + 1, entry.what & kWhatMask, entry.bytes});
  }
  if (track.expected_begun == track.begun + kStep) {
    view.newest.insert(view.newest.begin(), {++view.begun, track.expected.what & kWhatMask, track.expected.bytes});
    view.since_ns = track.expected_ns;
    view.is_exact = true;
  }
  return view;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int number_of(std::string_view text) {
  int value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string read_small(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t bytes = file ? ::read(file.get(), text, sizeof text) : -1;
  return bytes > 0 ? std::string(text, static_cast<std::size_t>(bytes)) : std::string();
}

/// True if the process calls itself `pid`, in the PID namespace that it is in.
bool is_named(const std::string& folder, int pid) {
  const std::string status = read_small(folder + "/status");
  const auto line = status.find("\nNSpid:");
  if (line == std::string::npos) return true;  // The kernel has no namespaces of processes.
  const std::string_view words = std::string_view(status).substr(line + 1, status.find('\n', line + 1) - line - 1);
  const auto last = words.find_last_of(" \t");
  return last != std::string_view::npos && number_of(words.substr(last + 1)) == pid;
}

/// Opens only what is a file: a process may put something else at the place of the link meanwhile.
std::optional<PageView> read_page(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
  const auto bytes = std::make_unique<std::byte[]>(sizeof(Page));
  if (::pread(file.get(), bytes.get(), sizeof(Page), 0) != ssize_t{sizeof(Page)}) return std::nullopt;
  return decode({bytes.get(), sizeof(Page)});
}

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

template <class Visit>
void each_entry(DIR& folder, Visit visit) {
  while (const dirent* entry = ::readdir(&folder))
    if (is_number(entry->d_name) && !visit(std::string(entry->d_name))) return;
}

std::optional<PageView> page_of(const std::string& folder) {
  std::optional<PageView> page;
  const Folder files(::opendir((folder + "/fd").c_str()));
  if (files == nullptr) return page;
  constexpr std::string_view kStart = "/memfd:";
  // One is the process's own, others its parents'; a stranger may make any number.
  constexpr int kPagesMax = 16;
  int read_pages = 0;
  each_entry(*files, [&](const std::string& number) {
    const std::string path = folder + "/fd/" + number;
    char target[64];
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length <= 0) return true;
    std::string_view name(target, static_cast<std::size_t>(length));
    if (!name.starts_with(kStart)) return true;
    name.remove_prefix(kStart.size());
    if (!name.starts_with(kMemfdName)) return true;
    auto read = read_page(path);
    if (!read || !is_named(folder, read->pid)) return ++read_pages < kPagesMax;
    page = std::move(read);
    return false;
  });
  return page;
}

/// Returns the letter behind the name in brackets, which may itself have brackets.
char state_of(const std::string& folder) {
  const std::string stat = read_small(folder + "/stat");
  const auto bracket = stat.rfind(')');
  return bracket != std::string::npos && bracket + 2 < stat.size() ? stat[bracket + 2] : '?';
}

std::string program_of(const std::string& folder) {
  const std::string name = read_small(folder + "/comm");
  return printable(std::string_view(name).substr(0, name.find('\n')));
}

}  // namespace

std::optional<PageView> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Page)) return std::nullopt;
  const auto page = std::make_unique<Page>();
  std::memcpy(static_cast<void*>(page.get()), bytes.data(), sizeof(Page));
  const PageHeader& header = page->header;
  if (header.magic != kPageMagic) return std::nullopt;
  PageView view{.pid = header.pid,
                .world_rank = header.world_rank,
                .world_size = header.world_size,
                .job = header.job,
                .since_ns = header.since_ns,
                .unlisted = header.unlisted,
                .on_tree = header.on_tree,
                .among_members = header.among_members};
  for (const TrackMemory& track : page->tracks)
    if (auto one = view_of(track)) view.tracks.push_back(*std::move(one));
  return view;
}

std::optional<std::string> packed(int fd) {
  // Only files of shared memory have seals. Any other may be one whose owner lets its readers wait.
  if (::fcntl(fd, F_GET_SEALS) < 0) return std::nullopt;
  const auto page = std::make_unique<Page>();
  if (::pread(fd, page.get(), sizeof(Page), 0) != ssize_t{sizeof(Page)} || page->header.magic != kPageMagic)
    return std::nullopt;
  std::string bytes(reinterpret_cast<const char*>(&page->header), sizeof(PageHeader));
  for (const TrackMemory& track : page->tracks)
    if (track.is_used == 1) bytes.append(reinterpret_cast<const char*>(&track), sizeof track);
  return bytes;
}

std::optional<PageView> decode_packed(std::string_view bytes) {
  if (bytes.size() < sizeof(PageHeader) || bytes.size() > sizeof(Page) ||
      (bytes.size() - sizeof(PageHeader)) % sizeof(TrackMemory) != 0)
    return std::nullopt;
  std::vector<std::byte> whole(sizeof(Page));  // The tracks that are left out are not in use.
  std::memcpy(whole.data(), bytes.data(), bytes.size());
  return decode(whole);
}

void describe(Process& process) {
  const std::string folder = "/proc/" + std::to_string(process.pid);
  process.state = state_of(folder);
  process.program = program_of(folder);
}

Found find_pages() {
  Found found;
  const Folder all(::opendir("/proc"));
  if (all == nullptr) return found;
  each_entry(*all, [&](const std::string& number) {
    const std::string folder = "/proc/" + number;
    errno = 0;
    auto page = page_of(folder);
    if (!page && errno == EACCES) ++found.hidden;
    struct stat about {};
    if (!page || ::stat(folder.c_str(), &about) != 0) return true;
    found.processes.push_back({.pid = number_of(number), .uid = about.st_uid, .page = *std::move(page)});
    describe(found.processes.back());
    return true;
  });
  std::sort(found.processes.begin(), found.processes.end(),
            [](const Process& a, const Process& b) { return a.pid < b.pid; });
  return found;
}

std::optional<PageView> read_again(const Process& process) { return page_of("/proc/" + std::to_string(process.pid)); }

}  // namespace sumac::recorder
