#include "bench/control/manager_process.hpp"

#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"
#include "launch/log_file.hpp"

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
      daemon_(std::move(other.daemon_)) {}

ManagerProcess::~ManagerProcess() {
  kill();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Result<> ManagerProcess::start() {
  launch::Launch launch{.name = "sharp_am",
                        .command = {program_, "--fabric", directory_ + "/fabric.yaml", "--listen", endpoint_,
                                    "--state-dir", directory_ + "/state", "--log-file", directory_ + "/am.log",
                                    // All jobs of its simulated hosts belong to one user.
                                    "--user-share-max-percent", "100"},
                        .log = directory_ + "/am.log"};
  launch.command.insert(launch.command.end(), options_.begin(), options_.end());
  auto started = launch::Daemon::start(launch);
  if (!started) return tl::unexpected(started.error());
  daemon_.emplace(*std::move(started));
  return {};
}

void ManagerProcess::signal(int number) const {
  if (daemon_) daemon_->signal(number);
}

void ManagerProcess::kill() {
  if (!daemon_) return;
  daemon_->signal(SIGKILL);
  daemon_->wait();
  daemon_.reset();
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
  std::ifstream file(fmt::format("/proc/{}/statm", daemon_ ? daemon_->pid() : -1));
  std::uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string ManagerProcess::log_tail() const {
  return fmt::format("{}", fmt::join(launch::last_lines(directory_ + "/am.log", 20), "\n"));
}

}  // namespace sumac::bench
