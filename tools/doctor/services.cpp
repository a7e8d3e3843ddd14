// Checks the services on the machine, and the components that Sumac finds next to itself.
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "base/fd.hpp"
#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"
#include "net/unix_seqpacket.hpp"
#include "tools/doctor/doctor.hpp"
#include "wire/host_codec.hpp"

namespace sumac::tools {
namespace {

namespace fs = std::filesystem;

Finding network() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {"network", Health::note, "interfaces can't be listed", ""};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::set<std::string> names;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    const bool has_address =
        at->ifa_addr != nullptr && (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6);
    if (has_address && (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0) names.insert(at->ifa_name);
  }
  if (names.empty())
    return {"network", Health::note, "loopback only",
            "enough for one machine; hosts of a cluster need an interface with an address"};
  return {"network", Health::well, fmt::format("{}", fmt::join(names, ", ")), ""};
}

Finding rdma() {
  std::error_code error;
  const bool has_device = !fs::is_empty("/sys/class/infiniband", error) && !error;
  const bool has_module = fs::exists(fs::path(bin_directory()).parent_path() / "lib/libsumac_net_ucx.so", error);
  if (!has_device) return {"RDMA", Health::well, "no device: TCP is used", ""};
  if (!has_module)
    return {"RDMA", Health::note, "a device, but no ucx backend beside this program",
            "install libucx0 and Sumac's ucx backend"};
  return {"RDMA", Health::well, "a device; give sharp_an --transport ucx to use it", ""};
}

/// Returns the first line that a command prints; empty if there is none. The shell gets none of the user's words.
std::string first_line_of(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command, "re"), ::pclose);
  char line[256] = "";
  if (pipe == nullptr || std::fgets(line, sizeof line, pipe.get()) == nullptr) return "";
  line[std::strcspn(line, "\n")] = '\0';
  return line;
}

Finding mpi() {
  const auto version = first_line_of("mpirun --version 2>/dev/null");
  std::error_code error;
  const bool has_component =
      fs::exists(fs::path(bin_directory()).parent_path() / "lib/openmpi/mca_coll_hcoll.so", error);
  if (version.empty())
    return {"MPI", Health::bad, "no mpirun in PATH", "apt-get install openmpi-bin, or put your Open MPI 4.1 into PATH"};
  if (version.find("Open MPI") == std::string::npos || version.find(" 4.1") == std::string::npos)
    return {"MPI", Health::note, version, "the component is for Open MPI 4.1; other MPIs run without it"};
  if (!has_component)
    return {"MPI", Health::bad, version + ", but no component beside this program",
            "build with libopenmpi-dev installed"};
  return {"MPI", Health::well, version + ", component found", ""};
}

constexpr Seconds kAnswerWithin{2};

/// A daemon that was stopped still has its socket, so it must answer.
Finding sharpd() {
  const char* set = std::getenv("SHARP_COLL_SHARPD_SOCKET_NAME");
  const std::string path = set != nullptr && *set != '\0' ? set : "/run/sumac/sharpd.sock";
  auto client = net::HostClient::connect(path, kAnswerWithin);
  if (!client)
    return {"sharpd", client.error().code == Errc::not_found ? Health::note : Health::bad,
            fmt::format("nobody at {}: {}", path, client.error().context),
            "for one machine put `sumac run` before the program; on a cluster: sharp_daemons_setup.sh -s -d sharpd"};
  const auto sent =
      client->send(wire::host_message(wire::HostKind::attach, wire::AttachBody{.world_size = 1}), kAnswerWithin);
  const auto answer = sent ? client->receive(kAnswerWithin) : tl::unexpected(sent.error());
  if (!answer)
    return {"sharpd", Health::bad,
            fmt::format("{} is open, but sharpd does not answer: {}", path, answer.error().context),
            "its log says more; a process that was stopped goes on after kill -CONT"};
  return {"sharpd", Health::well, "answers at " + path, ""};
}

Finding manager_at(const std::string& address) {
  if (const auto legal = control::check_endpoint(address, true); !legal)
    return {"sharp_am", Health::bad, legal.error().context, ""};
  const auto tls = control::Tls::of_environment();
  if (!tls) return {"sharp_am", Health::bad, tls.error().context, ""};
  const auto channel = control::make_channel(address, tls->get());
  if (!channel)
    return {"sharp_am", channel.error().code == Errc::denied ? Health::bad : Health::note,
            fmt::format("no answer at {}: {}", address, channel.error().context),
            "needed on a cluster only: start sharp_am, or say where it is with --manager"};
  const auto stub = control::v1::Manager::NewStub(*channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  control::v1::PingReply reply;
  const auto status = stub->Ping(&context, {}, &reply);
  if (status.ok())
    return {"sharp_am", Health::well,
            fmt::format("version {} at {}, up {} s", reply.version(), address, reply.uptime_ms() / 1000), ""};
  return {"sharp_am", Health::note, fmt::format("no answer at {}: {}", address, control::from_status(status).context),
          "needed on a cluster only: start sharp_am, or say where it is with --manager"};
}

}  // namespace

std::vector<Finding> examine_services(const std::string& manager) {
  return {network(), rdma(), mpi(), sharpd(), manager_at(manager)};
}

}  // namespace sumac::tools
