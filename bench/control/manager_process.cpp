#include "bench/control/manager_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/fd.hpp"
#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"

namespace sumac::bench {
Result<ManagerProcess> ManagerProcess::make(std::string program, const std::string& fabric,
                                            std::vector<std::string> options) {
  ManagerProcess am;
  am.program_ = std::move(program);
  am.options_ = std::move(options);
  am.directory_ = std::filesystem::temp_directory_path() / "sumac-control-XXXXXX";
  if (::mkdtemp(am.directory_.data()) == nullptr) return fail_errno("mkdtemp");
  std::ofstream(am.directory_ + "/fabric.yaml") << fabric;
  am.endpoint_ = "unix:" + am.directory_ + "/am.sock";
  return am;
}

ManagerProcess::ManagerProcess(ManagerProcess&& other) noexcept
    : program_(std::move(other.program_)),
      directory_(std::exchange(other.directory_, {})),
      endpoint_(std::move(other.endpoint_)),
      options_(std::move(other.options_)),
      pid_(std::exchange(other.pid_, -1)) {}

ManagerProcess::~ManagerProcess() {
  kill();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Result<> ManagerProcess::start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe2");
  UniqueFd heard(ends[0]), said(ends[1]);
  std::vector<std::string> command{program_,
                                   "--fabric",
                                   directory_ + "/fabric.yaml",
                                   "--listen",
                                   endpoint_,
                                   "--state-dir",
                                   directory_ + "/state",
                                   "--log-file",
                                   directory_ + "/am.log",
                                   "--user-share-max-percent",
                                   "100",  // All jobs of its simulated hosts belong to one user.
                                   "--ready-fd",
                                   "3"};
  command.insert(command.end(), options_.begin(), options_.end());
  std::vector<char*> words;
  for (auto& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  // vfork, because this process holds the memory of thousands of threads and connections, and the time of a restart is
  // measured.
  pid_ = ::vfork();
  if (pid_ == 0) {
    ::dup2(said.get(), 3);
    ::execv(words[0], words.data());
    ::_exit(126);
  }
  if (pid_ < 0) return fail_errno("vfork");
  said.reset();
  pollfd wait{heard.get(), POLLIN, 0};
  char text[16]{};
  if (::poll(&wait, 1, 30'000) != 1 || ::read(heard.get(), text, sizeof text) != 6)
    return fail(Errc::lost, "sharp_am did not start: {}", log_tail());
  return {};
}

void ManagerProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

void ManagerProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

Result<nlohmann::json> ManagerProcess::status() const {
  const auto channel = control::make_channel(endpoint_);
  if (!channel) return within("status", channel.error());
  const auto stub = control::v1::Manager::NewStub(*channel);
  grpc::ClientContext context;
  control::v1::StatusReply reply;
  if (const auto status = stub->Status(&context, {}, &reply); !status.ok())
    return within("status", control::from_status(status));
  return nlohmann::json::parse(reply.json());
}

std::uint64_t ManagerProcess::resident_bytes() const {
  std::ifstream file(fmt::format("/proc/{}/statm", pid_));
  std::uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string ManagerProcess::log_tail() const {
  std::ifstream file(directory_ + "/am.log");
  std::stringstream text;
  text << file.rdbuf();
  const auto all = text.str();
  return all.size() > 2000 ? all.substr(all.size() - 2000) : all;
}

}  // namespace sumac::bench
