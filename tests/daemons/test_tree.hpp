#pragma once
// A tree of real processes for tests: manager, three nodes, sharpd of host h1; and the client library's messages to
// sharpd.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"
#include "control/test_pki.hpp"
#include "net/unix_seqpacket.hpp"
#include "node/test_member.hpp"
#include "tests/daemons/daemon_process.hpp"
#include "wire/host_codec.hpp"

namespace sumac::tests {

inline constexpr const char* kFabric = R"(name: test
switches: [root, leaf1, leaf2]
links: [{a: leaf1, b: root}, {a: leaf2, b: root}]
hosts: {h1: {leaf: leaf1}, h2: {leaf: leaf1}, h3: {leaf: leaf2}, h4: {leaf: leaf2}}
nodes: {an-root: {switch: root}, an-leaf1: {switch: leaf1}, an-leaf2: {switch: leaf2}}
)";

/// The same hosts and nodes in two trees: the nodes at the root switch and at the first leaf are the roots.
inline constexpr const char* kTwoTrees = R"(name: test
switches: [root, leaf1, leaf2]
links: [{a: leaf1, b: root}, {a: leaf2, b: root}]
hosts: {h1: {leaf: leaf1}, h2: {leaf: leaf1}, h3: {leaf: leaf2}, h4: {leaf: leaf2}}
nodes: {an-root: {switch: root}, an-leaf1: {switch: leaf1}, an-leaf2: {switch: leaf2}}
root: [root, leaf1]
trees: 2
)";

struct Tree {
  Scratch scratch;
  std::string manager = "unix:" + scratch.file("am.sock");
  std::string listen = "127.0.0.1:0";  ///< Address of the nodes' data paths.
  std::vector<std::string> manager_options, node_options;
  /// The authority of the daemons' certificates, if they have any: each gets its `--tls-...` by role and name.
  std::optional<control::TestPki> pki;
  bool insecure = false;  ///< The daemons talk over TCP in clear text.
  const char* fabric = kFabric;
  std::optional<DaemonProcess> am, root, one, two, hostd;

  Tree() { start_all(); }
  /// A tree for which the machine seems to have IPv6 only.
  struct Ipv6 {};
  explicit Tree(Ipv6) {
    pki.emplace();
    listen = "[::1]:0";
    manager = "[::1]:0";
    start_manager();
    const auto text = am->output();
    const auto at = text.find("listens on [::1]:");
    if (at == std::string::npos) return;
    manager = text.substr(at + 11, text.find_first_of("; ", at + 11) - at - 11);
    start_others();
  }
  /// Daemons that talk over TCP: in clear text, or with certificates.
  struct OverTcp {
    bool tls = true;
  };
  explicit Tree(OverTcp how) {
    if (how.tls)
      pki.emplace();
    else
      insecure = true;
    manager = "127.0.0.1:0";
    manager_options = {"--log-level", "4"};
    start_manager();
    const auto text = am->output();
    const auto at = text.find("listens on 127.0.0.1:");
    if (at == std::string::npos) return;
    manager = text.substr(at + 11, text.find_first_of("; ", at + 11) - at - 11);
    start_others();
  }
  struct TwoTrees {};
  explicit Tree(TwoTrees, std::vector<std::string> options = {}) : node_options(std::move(options)), fabric(kTwoTrees) {
    start_all();
  }
  /// A manager that keeps its state.
  struct Durable {};
  explicit Tree(Durable) {
    manager_options = {"--state-dir", scratch.file("state")};
    start_all();
  }
  /// The leases are short, but long enough for a busy machine.
  struct ShortLeases {};
  explicit Tree(ShortLeases) {
    manager_options = {"--lease", "4s", "--renew", "1s"};
    start_all();
  }
  void start_all() {
    start_manager();
    start_others();
  }
  void start_others() {
    start(one, "an-leaf1");  // the leaf starts before its parent, as may happen
    start(two, "an-leaf2");
    start(root, "an-root");
    start_hostd();
  }
  std::vector<std::string> with_tls(control::CertRole role, const std::string& name, std::vector<std::string> options) {
    if (insecure) options.emplace_back("--allow-insecure");
    if (!pki) return options;
    const auto files = pki->files(role, name);
    options.insert(options.end(), {"--tls-ca", files.ca, "--tls-cert", files.cert, "--tls-key", files.key});
    return options;
  }
  void start_hostd() {
    hostd.emplace("sharpd",
                  with_tls(control::CertRole::host, "h1",
                           {"--manager", manager, "--host", "h1", "--socket", scratch.file("sharpd.sock")}),
                  scratch.file("sharpd.log"));
  }
  void start_manager() {
    // The jobs of a test all belong to one user.
    std::vector<std::string> arguments{"--fabric", scratch.file("fabric.yaml", fabric), "--listen",
                                       manager,    "--user-share-max-percent",          "100"};
    arguments.insert(arguments.end(), manager_options.begin(), manager_options.end());
    am.emplace("sharp_am", with_tls(control::CertRole::manager, "am", arguments), scratch.file("am.log"));
  }
  void start(std::optional<DaemonProcess>& daemon, const std::string& name) {
    std::vector<std::string> arguments{"--name",      name,   "--manager",    manager,
                                       "--listen",    listen, "--stats-file", scratch.file(name + ".json"),
                                       "--log-level", "3",    "--ost-count",  "512"};
    arguments.insert(arguments.end(), node_options.begin(), node_options.end());
    daemon.emplace("sharp_an", with_tls(control::CertRole::node, name, arguments), scratch.file(name + ".log"));
  }
  /// Waits until the manager has all nodes back; returns false after a time that only a failure reaches.
  bool all_registered() const {
    const auto tls = pki ? pki->tls(control::CertRole::admin, "test") : nullptr;
    const auto channel = control::make_channel(manager, tls.get());
    if (!channel) return false;
    const auto stub = control::v1::Manager::NewStub(*channel);
    for (const Time end = monotonic_now() + Seconds(20); monotonic_now() < end; ::poll(nullptr, 0, 5)) {
      grpc::ClientContext context;
      control::v1::StatusReply reply;
      if (!stub->Status(&context, {}, &reply).ok()) continue;
      const auto status = nlohmann::json::parse(reply.json());
      if (std::ranges::all_of(status["nodes"],
                              [](const auto& node) { return node["registered"] && node.value("link_up", false); }))
        return true;
    }
    return false;
  }
  /// Waits until the node knows that its jobs ended, since ending a job does not wait for that; returns false after a
  /// time that only a failure reaches.
  bool without_jobs(const DaemonProcess& daemon, const std::string& name) const {
    for (const Time end = monotonic_now() + Seconds(20); monotonic_now() < end; ::poll(nullptr, 0, 5)) {
      daemon.signal(SIGUSR1);
      std::ifstream file(scratch.file(name + ".json"));
      const auto all = nlohmann::json::parse(file, nullptr, false);
      if (!all.is_discarded() && all["trees"][0]["jobs"].empty()) return true;
    }
    return false;
  }
  nlohmann::json statistics(DaemonProcess& daemon, const std::string& name) {
    EXPECT_EQ(daemon.stop(), 0) << daemon.output();
    std::ifstream file(scratch.file(name + ".json"));
    return nlohmann::json::parse(file)["trees"][0];
  }
};

/// The library's conversation with sharpd; it holds the job until it goes out of scope.
struct Holder {
  net::HostClient socket;
  node::TestJob job;                 ///< The job on the first tree.
  std::vector<node::TestJob> trees;  ///< The job on every tree.
  std::string refused;
  std::uint32_t status = 0;

  Holder(Tree& tree, std::uint64_t id, std::uint64_t features = 0, std::uint32_t osts = 64, std::uint32_t num_trees = 1)
      : socket(net::HostClient::connect(tree.scratch.file("sharpd.sock"), Seconds(20)).value()) {
    const JobId job_id{id};
    send(wire::host_message(wire::HostKind::attach, wire::AttachBody{.world_size = 4}));
    EXPECT_EQ(receive().header.kind, wire::HostKind::attached);
    wire::JobBeginBody begin;
    begin.world_size = begin.host_count = 4;
    begin.quota.osts = osts;
    begin.quota.max_groups = 4;
    begin.quota.num_trees = num_trees;
    begin.quota.payload_per_ost = 256;
    begin.quota.features = features;
    send(wire::host_message(wire::HostKind::job_begin, begin, job_id));
    const char* names[] = {"h1", "h2", "h3", "h4"};
    std::vector<wire::JobHostEntry> hosts(4);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(wire::put_text(hosts[i].host, names[i]));
    send(wire::host_list<wire::JobHostEntry>(wire::HostKind::job_host, hosts, 0, 4, job_id));
    const auto answer = receive();
    if (answer.header.kind == wire::HostKind::job_refused) {
      const auto body = wire::host_entry<wire::JobRefusedBody>(answer);
      refused = wire::get_text(body.text);
      status = body.status;
      return;
    }
    const auto granted = wire::host_entry<wire::JobGrantedBody>(answer);
    job.job_id = job_id;
    job.key = granted.job_key;
    job.osts = std::max(2u, granted.quota.osts / granted.quota.max_groups);
    job.payload = granted.quota.payload_per_ost;
    job.stream_window = granted.quota.stream_window;
    job.chunk = granted.quota.chunk_bytes;
    for (std::uint32_t t = 0; t < granted.tree_count; ++t) {
      auto one = job;
      const auto tree_body = wire::host_entry<wire::JobTreeBody>(receive());
      one.tree_id = tree_body.tree_id;
      for (std::uint32_t i = 0; i < tree_body.node_count; ++i) {
        const auto entry = wire::host_entry<wire::JobNodeEntry>(receive());
        one.tree.push_back({entry.node_id, entry.parent_id});
        one.address[entry.node_id] = wire::get_text(entry.address);
      }
      const auto leaves = receive();
      for (std::uint32_t i = 0; i < leaves.header.entries; ++i)
        one.leaf_of_rank.push_back(wire::host_entry<wire::JobLeafEntry>(leaves, i).node_id);
      trees.push_back(std::move(one));
    }
    job = trees.front();
  }
  void send(const wire::HostMessage& message) { EXPECT_TRUE(socket.send(message, Seconds(20))); }
  wire::HostMessage receive() { return socket.receive(Seconds(20)).value(); }
  bool end() {
    send(wire::host_message(wire::HostKind::job_end, job.job_id));
    return receive().header.kind == wire::HostKind::job_ended;
  }
};

}  // namespace sumac::tests
