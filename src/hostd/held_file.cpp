#include "hostd/held_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/boot_id.hpp"
#include "base/fd.hpp"
#include "base/replace_file.hpp"

namespace sumac::hostd {
namespace {

constexpr const char* kHead = "sumac-held-jobs 1";

}  // namespace

std::optional<ProcessMark> mark_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto name_end = text.rfind(')');  // The name before the last bracket may contain anything.
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int number = 3; number < 22; ++number) fields >> field;
  ProcessMark mark{pid, 0};
  if (!(fields >> mark.started)) return std::nullopt;
  return mark;
}

Result<std::optional<Held>> load_held(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::optional<Held>{};
  if (!fd) return fail_errno(path);
  struct stat info {};
  if (::fstat(fd.get(), &info) < 0) return fail_errno(path);
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0)
    return fail(Errc::invalid, "{}: it must be a plain file of our user that others cannot write", path);
  std::ifstream file(fmt::format("/proc/self/fd/{}", fd.get()));
  std::string head, word, of_boot;
  Held held;
  std::size_t count = 0;
  std::getline(file, head);
  const bool ours = head == kHead && (file >> word >> of_boot) && word == "boot" && (file >> word >> held.life) &&
                    word == "life" && (file >> word >> held.last_ticket) && word == "ticket" &&
                    (file >> word >> count) && word == "jobs";
  for (std::size_t i = 0; ours && i < count; ++i) {
    HeldJob job;
    std::uint64_t job_id = 0;
    if (!(file >> job.ticket >> job_id >> job.holder.pid >> job.holder.started)) break;
    job.job_id = JobId{job_id};
    held.jobs.push_back(job);
  }
  if (!ours || held.jobs.size() != count || !(file >> word) || word != "end")
    return fail(Errc::invalid, "{}: cannot be parsed", path);
  for (Ticket ticket = 0; file >> ticket >> word;)
    for (auto& job : held.jobs)
      if (job.ticket == ticket) job.daemons = word;
  // Process numbers mean something only within one boot of the machine.
  if (of_boot != boot_id()) return std::optional<Held>{};
  return std::optional<Held>(std::move(held));
}

Result<> save_held(const std::string& path, const Held& held) {
  if (held.jobs.empty()) {
    if (::unlink(path.c_str()) < 0 && errno != ENOENT) return fail_errno(path);
    return {};
  }
  std::string text = fmt::format("{}\nboot {}\nlife {}\nticket {}\njobs {}\n", kHead, boot_id(), held.life,
                                 held.last_ticket, held.jobs.size());
  for (const auto& job : held.jobs)
    text += fmt::format("{} {} {} {}\n", job.ticket, job.job_id, job.holder.pid, job.holder.started);
  text += "end\n";
  for (const auto& job : held.jobs)
    if (!job.daemons.empty()) text += fmt::format("{} {}\n", job.ticket, job.daemons);
  return replace_file(path, text, 0600);
}

}  // namespace sumac::hostd
