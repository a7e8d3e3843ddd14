#include "tools/doctor/hosts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <memory>

#include "base/fd.hpp"
#include "base/utf8.hpp"
#include "launch/log_file.hpp"
#include "tools/commands.hpp"
#include "tools/run/remote.hpp"

namespace sumac::tools::doctor {
namespace {

constexpr std::size_t kAtOnceMax = 128;
constexpr int kClockTrials = 8;
constexpr off_t kErrorBytesMax = 64 << 10;
constexpr std::int64_t kTimeMax = std::int64_t{1} << 62;
constexpr std::size_t kNamesMax = 511;  // The settings must fit into a pipe.

std::int64_t wall_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

class Conversation {
 public:
  Conversation(const Ask& ask, std::size_t index) : ask_(ask), answer_{.name = ask.hosts[index]} {
    const auto command = launch_command(ask.launcher, answer_.name, {bin_directory() + "/sumac", "doctor-host"});
    // The seal refuses whatever a host writes beyond this size, so that it can't fill this machine's memory.
    error_ = UniqueFd(::memfd_create("doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    deadline_ = deadline_after(monotonic_now(), ask.limit);
    if (!error_ || ::ftruncate(error_.get(), kErrorBytesMax) != 0 ||
        ::fcntl(error_.get(), F_ADD_SEALS, F_SEAL_GROW) != 0) {
      give_up(fmt::format("no memory for its errors: {}", std::strerror(errno)), "close other programs");
      return;
    }
    auto remote = start_remote(command, error_.get());
    if (!remote) {
      give_up(remote.error().context, "name another launcher with --launcher");
      return;
    }
    remote_ = *std::move(remote);
    // A host that reads nothing must not hold up the others.
    ::fcntl(remote_.in.get(), F_SETFL, O_NONBLOCK);
    std::string text = fmt::format("cluster 1\nmanager {}\ntls-dir {}\n", ask.manager, ask.tls_dir);
    Strings names = ask.hosts;
    names.insert(names.end(), ask.fabric_hosts.begin(), ask.fabric_hosts.end());
    std::size_t count = 0;
    for (const auto& name : names)
      if (name != answer_.name && count++ < kNamesMax) text += fmt::format("names {}\n", name);
    for (const auto& peer : peers_of(ask.hosts, index)) text += fmt::format("peers {}\n", peer);
    send_to(remote_, text + "go\n");
  }

  bool is_over() const { return over_; }
  int descriptor() const { return leaving_ ? leaving_.get() : remote_.out.get(); }
  Time deadline() const { return deadline_; }
  HostAnswer take() { return std::move(answer_); }
  /// Its launcher, which may still be on its way out; -1: none.
  pid_t launcher() const { return remote_.pid; }

  void hear() {
    if (leaving_) return lost();
    char part[65536];
    const auto got = ::read(remote_.out.get(), part, sizeof part);
    const auto wall = wall_ns();
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return leave();
    said_.append(part, static_cast<std::size_t>(got));
    heard_ += static_cast<std::size_t>(got);
    std::size_t begin = 0;
    for (auto newline = said_.find('\n'); newline != std::string::npos && !over_; newline = said_.find('\n', begin)) {
      take_line(said_.substr(begin, newline - begin), wall);
      begin = newline + 1;
    }
    said_.erase(0, begin);
    if (!over_ && (said_.size() > kReportBytesMax || heard_ > 2 * kReportBytesMax))
      give_up("it sends more than a report has", kOneVersion);
  }

  void late() {
    if (leaving_) return lost();
    give_up(fmt::format("no answer within {} s", std::chrono::duration_cast<Seconds>(ask_.limit).count()),
            fmt::format("is the host on? `{}` must work without a question", try_it()));
  }

 private:
  static constexpr const char* kOneVersion = "install one version of Sumac on all hosts, in the same folder";

  std::string try_it() const {
    std::string words;
    for (const auto& word : launch_command(ask_.launcher, answer_.name, {"true"}))
      words += (words.empty() ? "" : " ") + word;
    return words;
  }

  void take_line(const std::string& line, std::int64_t wall) {
    if (awaits_ == Awaits::ready && line == "ready") {
      send_clock();
    } else if (awaits_ == Awaits::time && line.starts_with("time ")) {
      std::int64_t theirs = 0;
      const bool is_number = std::from_chars(line.data() + 5, line.data() + line.size(), theirs).ec == std::errc{};
      if (is_number && theirs >= 0 && theirs < kTimeMax) note_clock(theirs, wall);
      if (++trials_ < kClockTrials) return send_clock();
      awaits_ = Awaits::report;
      send_to(remote_, "collect 1\ngo\n");
    } else if (awaits_ == Awaits::report && line.starts_with("report ")) {
      auto report = parse_report(std::string_view(line).substr(7));
      if (!report) return give_up(report.error().context, kOneVersion);
      answer_.report = *std::move(report);
      end();
    }
    // All other lines come from a login shell, or from a host that wants more of us than its turn.
  }

  void send_clock() {
    awaits_ = Awaits::time;
    sent_wall_ = wall_ns();
    send_to(remote_, "time 1\ngo\n");
  }

  void note_clock(std::int64_t theirs, std::int64_t wall) {
    const auto trip = wall - sent_wall_;
    if (trip < 0 || (answer_.clock && trip / 2 >= answer_.clock->error_ns)) return;
    answer_.clock = ClockOffset{theirs - (sent_wall_ + trip / 2), trip / 2};
  }

  /// The last line that the launcher or the host wrote on standard error.
  std::string last_words() const {
    const auto size = ::lseek(error_.get(), 0, SEEK_CUR);  // The launcher shares the place to which it has written.
    std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, 4096)), '\0');
    const auto got = ::pread(error_.get(), text.data(), text.size(), size - static_cast<off_t>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    return printable(text.substr(text.rfind('\n') + 1).substr(0, 300));
  }

  /// The launcher has closed its output. Its exit says why, and it gets a moment for that.
  void leave() {
    remote_.in.reset();
    remote_.out.reset();
    leaving_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, remote_.pid, 0)));
    deadline_ = std::min(deadline_, deadline_after(monotonic_now(), Seconds(2)));
    if (!leaving_) lost();
  }

  void lost() {
    leaving_.reset();
    int status = 0;
    const bool ended = remote_ends_by(remote_.pid, monotonic_now(), status);
    remote_.pid = -1;
    const auto words = last_words();
    const auto how =
        ended ? "its launcher ended with " + launch::describe_exit(status) : std::string("its launcher hangs");
    const bool is_old = words.find("no subcommand 'doctor-host'") != std::string::npos;
    give_up(
        is_old ? "its Sumac is older and has no doctor for several hosts" : how + (words.empty() ? "" : ": " + words),
        is_old ? kOneVersion
               : fmt::format("`{}` must work without a question, and Sumac be installed there in the same folder",
                             try_it()));
  }

  void give_up(std::string why, std::string remedy) {
    answer_.report.reset();
    answer_.why = std::move(why);
    answer_.remedy = std::move(remedy);
    if (remote_.pid > 0) ::kill(-remote_.pid, SIGKILL);
    end();
  }

  void end() {
    over_ = true;
    remote_.in.reset();
    remote_.out.reset();
  }

  const Ask& ask_;
  HostAnswer answer_;
  UniqueFd error_;
  Remote remote_;
  Time deadline_ = kNever;
  std::string said_;
  std::size_t heard_ = 0;
  UniqueFd leaving_;  ///< Becomes readable when the launcher ends, after it has closed its output.
  enum class Awaits { ready, time, report } awaits_ = Awaits::ready;
  std::int64_t sent_wall_ = 0;
  int trials_ = 0;
  bool over_ = false;
};

void show_progress(std::size_t done, std::size_t all) {
  if (::isatty(STDERR_FILENO) == 0) return;
  if (done < all)
    fmt::print(stderr, "\rsumac: doctor: {} of {} hosts have answered ", done, all);
  else
    fmt::print(stderr, "\r{:60}\r", "");
}

}  // namespace

Strings peers_of(const Strings& hosts, std::size_t index) {
  constexpr std::size_t kAll = 5;
  Strings peers;
  for (std::size_t step = 1; step < hosts.size(); step = hosts.size() <= kAll ? step + 1 : step * 2)
    if (peers.size() < kAll) peers.push_back(hosts[(index + step) % hosts.size()]);
  return peers;
}

std::vector<HostAnswer> ask_hosts(const Ask& ask) {
  std::vector<HostAnswer> answers(ask.hosts.size());
  std::vector<std::pair<std::size_t, std::unique_ptr<Conversation>>> talking;
  std::vector<pid_t> leaving;  // One that is slow to end holds nobody up.
  std::size_t next = 0, done = 0;
  show_progress(done, answers.size());
  while (done < answers.size()) {
    while (next < answers.size() && talking.size() < kAtOnceMax) {
      talking.emplace_back(next, std::make_unique<Conversation>(ask, next));
      ++next;
    }
    Time first = kNever;
    std::vector<pollfd> wait;
    for (const auto& [index, one] : talking) {
      wait.push_back({one->descriptor(), POLLIN, 0});
      first = std::min(first, one->is_over() ? Time{} : one->deadline());
    }
    const auto left = std::max<std::int64_t>(0, std::chrono::ceil<Millis>(first - monotonic_now()).count());
    ::poll(wait.data(), wait.size(), static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    for (std::size_t i = 0; i < talking.size(); ++i) {
      auto& one = *talking[i].second;
      if (!one.is_over() && wait[i].revents != 0) one.hear();
      if (!one.is_over() && monotonic_now() >= one.deadline()) one.late();
      if (!one.is_over()) continue;
      answers[talking[i].first] = one.take();
      if (one.launcher() > 0) leaving.push_back(one.launcher());
      show_progress(++done, answers.size());
    }
    std::erase_if(talking, [](const auto& one) { return one.second->is_over(); });
  }
  const Time deadline = deadline_after(monotonic_now(), Seconds(2));
  int status = 0;
  for (const auto pid : leaving) remote_ends_by(pid, deadline, status);
  return answers;
}

}  // namespace sumac::tools::doctor
