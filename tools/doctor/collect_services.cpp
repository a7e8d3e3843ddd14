// Collects the daemons that this host reaches, and the software that Sumac finds next to itself.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"
#include "net/unix_seqpacket.hpp"
#include "tools/commands.hpp"
#include "tools/doctor/collect.hpp"
#include "tools/manager_status.hpp"
#include "wire/host_codec.hpp"

namespace sumac::tools::doctor {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kAnswerWithin{2};

/// Returns the first line that a command prints; empty if there is none. The shell gets none of the user's words.
std::string first_line_of(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command, "re"), ::pclose);
  char line[256] = "";
  if (pipe == nullptr || std::fgets(line, sizeof line, pipe.get()) == nullptr) return "";
  line[std::strcspn(line, "\n")] = '\0';
  return line;
}

/// FNV-1a over the whole file: two hosts with the same sum have the same file. Empty: there is no such file.
std::string checksum_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  std::uint64_t sum = 0xcbf29ce484222325;
  char part[65536];
  while (file.read(part, sizeof part), file.gcount() > 0)
    for (std::streamsize i = 0; i < file.gcount(); ++i)
      sum = (sum ^ static_cast<unsigned char>(part[i])) * 0x100000001b3;
  return fmt::format("{:016x}", sum);
}

/// A daemon that was stopped still has its socket, so it must answer.
Sharpd ask_sharpd() {
  Sharpd result{.socket = own_sharpd_socket()};
  auto client = net::HostClient::connect(result.socket, kAnswerWithin);
  if (!client) {
    result.state = client.error().code == Errc::not_found ? "absent" : "silent";
    result.why = client.error().context;
    return result;
  }
  const auto sent =
      client->send(wire::host_message(wire::HostKind::attach, wire::AttachBody{.world_size = 1}), kAnswerWithin);
  const auto answer = sent ? client->receive(kAnswerWithin) : tl::unexpected(sent.error());
  result.state = answer ? "answers" : "silent";
  if (!answer) result.why = answer.error().context;
  if (answer && answer->header.kind == wire::HostKind::attached)
    result.host = wire::get_text(wire::host_entry<wire::AttachedBody>(*answer).host);
  return result;
}

std::string text_in(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

/// The manager's own list of its daemons; another user's nodes are no secret.
void add_status(Manager& manager) {
  const auto status = ask_manager(manager.endpoint);
  if (!status || !status->is_object()) return;
  for (const auto& node : status->value("nodes", nlohmann::json::array()))
    if (node.is_object() && manager.nodes.size() < 4096)
      manager.nodes.push_back({text_in(node, "name"), text_in(node, "address"), text_in(node, "version"),
                               node.value("registered", nlohmann::json()) == true, text_in(node, "silent")});
  for (const auto& name : status->value("sharpds_elsewhere", nlohmann::json::array()))
    if (name.is_string() && manager.elsewhere.size() < 64) manager.elsewhere.push_back(name.get<std::string>());
  for (const auto& each : status->value("sharpd_versions", nlohmann::json::array())) {
    if (!each.is_object() || manager.sharpds.size() >= 64) continue;
    SharpdVersion one{.version = text_in(each, "version")};
    if (const auto hosts = each.find("hosts"); hosts != each.end() && hosts->is_number_integer())
      one.hosts = hosts->get<std::int64_t>();
    for (const auto& name : each.value("some", nlohmann::json::array()))
      if (name.is_string()) one.some.push_back(name.get<std::string>());
    manager.sharpds.push_back(std::move(one));
  }
}

void ask_the_manager(Manager& manager) {
  manager.state = "wrong";
  if (const auto legal = control::check_endpoint(manager.endpoint, true); !legal) {
    manager.why = legal.error().context;
    return;
  }
  const auto tls = control::Tls::of_environment();
  if (!tls) {
    manager.why = tls.error().context;
    return;
  }
  const auto channel = control::make_channel(manager.endpoint, tls->get());
  if (!channel) {
    manager.state = channel.error().code == Errc::denied ? "denied" : "absent";
    manager.why = channel.error().context;
    return;
  }
  const auto stub = control::v1::Manager::NewStub(*channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kAnswerWithin);
  control::v1::PingReply reply;
  const auto status = stub->Ping(&context, {}, &reply);
  manager.state = status.ok() ? "answers" : "absent";
  if (!status.ok()) {
    manager.why = control::from_status(status).context;
    if (manager.why.starts_with(control::kTlsFailure)) manager.state = "untrusted";
    return;
  }
  manager.version = reply.version();
  manager.uptime_ms = static_cast<std::int64_t>(reply.uptime_ms());
  add_status(manager);
}

}  // namespace

std::string own_sharpd_socket() {
  const char* set = std::getenv("SHARP_COLL_SHARPD_SOCKET_NAME");
  return set != nullptr && *set != '\0' ? set : "/run/sumac/sharpd.sock";
}

void collect_software(Facts& facts) {
  auto& software = facts.software;
  std::error_code error;
  const auto lib = fs::path(bin_directory()).parent_path() / "lib";
  software.mpi = first_line_of("mpirun --version 2>/dev/null");
  software.component = fs::exists(lib / "openmpi/mca_coll_hcoll.so", error);
  software.component_for = SUMAC_COMPONENT_FOR;
  software.rdma_device = !fs::is_empty("/sys/class/infiniband", error) && !error;
  software.ucx_backend = fs::exists(lib / "libsumac_net_ucx.so", error);
  for (const char* name : {"libsharp_coll.so", "openmpi/mca_coll_hcoll.so", "libsumac_mpi_openmpi.so",
                           "libsumac_mpi_mpich.so", "libsumac_net_ucx.so"})
    if (auto sum = checksum_of(lib / name); !sum.empty()) software.libraries.push_back({name, std::move(sum)});
}

void collect_services(Facts& facts) {
  facts.sharpd = ask_sharpd();
  ask_the_manager(facts.manager);
}

}  // namespace sumac::tools::doctor
