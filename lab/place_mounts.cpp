#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "lab/place.hpp"

namespace sumac::lab {

namespace {

Result<> mount_over(const char* type, const std::string& target, unsigned long flags, const char* data) {
  if (::mount(type, target.c_str(), type, flags, data) < 0)
    return fail_errno(fmt::format("mount {} on {}", type, target));
  return {};
}

Result<> bind_over(const std::string& source, const std::string& target) {
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) < 0) {
    return fail_errno(fmt::format("bind {} over {}", source, target));
  }
  return {};
}

/// Each namespace has its own files and no other's.
Result<> write_tls_files(const std::map<std::string, std::string>& files) {
  if (files.empty()) return {};
  if (::mkdir(kTlsDirectory, 0700) < 0) return fail_errno(fmt::format("make {} on the lab host", kTlsDirectory));
  for (const auto& [name, text] : files) {
    const auto path = fmt::format("{}/{}", kTlsDirectory, name);
    const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      return fail_errno(fmt::format("write {} on the lab host", path));
  }
  return {};
}

struct Kept {
  std::string path;
  UniqueFd fd;
};

Result<> write_hosts_file(const Plan& plan) {
  const std::string path = "/run/sumac/hosts";
  std::ofstream file(path);
  file << "127.0.0.1 localhost\n";
  for (const auto& place : plan.places) file << ip_text(plan.first_port_of(place).ip) << ' ' << place.name << '\n';
  file.close();
  if (!file) return fail(Errc::io, "write {}: the lab host's /run is full or not writable", path);
  // A small root has no such file, and nothing can be mounted over it then. An empty one says as much as none.
  const UniqueFd below{::open("/etc/hosts", O_RDONLY | O_CREAT | O_CLOEXEC, 0644)};
  if (!below) return fail_errno("make /etc/hosts, which this machine has not");
  return bind_over(path, "/etc/hosts");
}

}  // namespace

Result<> make_private_mounts(const Plan& plan, const PlaceOptions& options) {
  // No mount made here may propagate to the machine.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) {
    if (errno == EINVAL)
      return fail(Errc::invalid,
                  "make the lab host's mounts private: / is no mount point, as in a plain chroot: outside of it run "
                  "`mount --bind ROOT ROOT` for its folder, and enter it again");
    return fail_errno("make the lab host's mounts private");
  }
  // A descriptor still reaches a directory after something was mounted over its path.
  std::vector<Kept> kept;
  for (const auto& path : options.shared_directories) {
    UniqueFd fd{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!fd) return fail_errno(fmt::format("open the shared directory {}", path));
    kept.push_back({path, std::move(fd)});
  }
  const auto sized = [](std::uint64_t bytes) {
    return bytes == 0 ? "mode=1777" : fmt::format("mode=1777,size={}", bytes);
  };
  for (const auto& [path, with] :
       {std::pair("/dev/shm", sized(options.shm_bytes)), std::pair("/tmp", sized(options.tmp_bytes)),
        std::pair("/run", std::string("mode=755"))}) {
    if (auto ok = mount_over("tmpfs", path, MS_NOSUID | MS_NODEV, with.c_str()); !ok) return ok;
  }
  for (const auto& each : kept) {
    std::error_code error;
    std::filesystem::create_directories(each.path, error);
    if (error) return fail(Errc::io, "make {} on the lab host: {}", each.path, error.message());
    if (auto ok = bind_over(fmt::format("/proc/self/fd/{}", each.fd.get()), each.path); !ok) return ok;
  }
  // Daemons put their sockets there; an installation makes the directory when the machine starts.
  if (::mkdir("/run/sumac", 0755) < 0) return fail_errno("make /run/sumac on the lab host");
  if (auto ok = write_hosts_file(plan); !ok) return ok;
  if (auto ok = write_tls_files(options.tls_files); !ok) return ok;
  if (auto ok = mount_over("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr); !ok) return ok;
  // A fresh sysfs shows the namespace's own devices. The kernel may refuse it to a user namespace; then the machine's
  // stays, which only matters to programs that look their device up there.
  if (auto ok = mount_over("sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr); !ok && options.privileged)
    return ok;
  // Groups outlive sharp_an there. Older kernels have no such file system.
  if (options.privileged) (void)mount_over("bpf", "/sys/fs/bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700");
  struct stat info {};
  if (::stat("/dev/mqueue", &info) == 0) {
    if (auto ok = mount_over("mqueue", "/dev/mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
        !ok && options.privileged)
      return ok;
  }
  return {};
}

}  // namespace sumac::lab
