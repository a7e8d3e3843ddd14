#include "tools/doctor/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tools/doctor/driver_version.hpp"
#include "tools/doctor/test_findings.hpp"

namespace sumac::tools::doctor {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMiB = 1 << 20, kDay = 86400, kNow = 1'800'000'000;

/// A host of a cluster on which nothing is wrong.
Facts healthy() {
  Facts f;
  f.host = "h1";
  f.sumac = "0.1.0";
  f.cluster = true;
  f.now_s = kNow;
  f.processors = {.online = 8, .allowed = 8};
  f.memory = {.total_bytes = 64000 * kMiB};
  f.open_files = {1024, 524288};
  f.shared_memory = {"", 32000 * kMiB};
  f.single_copy = {true, "", 1};
  f.clock = {"tsc", true};
  f.interfaces = {{"eth0", 9000, {"10.0.0.1/16", "fe80::1/64"}}};
  f.names = {{"h1", "", {"10.0.0.1"}, 1}, {"h2", "", {"10.0.0.2"}, 1}};
  f.paths = {{"h2", "10.0.0.2", "eth0", 9000, 9000, false}};
  f.ports = {{"sharp_am", "10.0.0.9:6126", "open"}, {"sharp_an an1", "10.0.0.8:7000", "open"}};
  f.settings = {{"net.core.somaxconn", "4096"},
                {"net.ipv4.tcp_window_scaling", "1"},
                {"net.ipv4.tcp_sack", "1"},
                {"net.ipv4.tcp_rmem", "4096 131072 6291456"},
                {"net.ipv4.tcp_wmem", "4096 16384 4194304"},
                {"net.ipv4.ip_local_port_range", "32768 60999"},
                {"net.ipv4.tcp_available_congestion_control", "reno cubic"},
                {"net.ipv4.tcp_allowed_congestion_control", "reno cubic"},
                {"net.ipv4.tcp_congestion_control", "cubic"}};
  f.secrets = {
      {"/etc/sumac/tls/host-h1.crt", "certificate", "", "host h1", kNow - kDay, kNow + 300 * kDay, 0644, "host h1"},
      {"/etc/sumac/tls/host-h1.key", "key", "", "", 0, 0, 0640, "host h1"}};
  f.software = {.mpi = "mpirun (Open MPI) 4.1.4", .component = true};
  f.ucx.error = "no ucx_info in PATH";
  f.hop = "allowed";
  f.sharpd = {"/run/sumac/sharpd.sock", "answers", "", "h1"};
  f.manager = {.endpoint = "10.0.0.9:6126", .state = "answers", .version = "0.1.0"};
  f.manager.nodes = {{"an1", "tcp:10.0.0.8:7000", "0.1.0", true}};
  f.manager.sharpds = {{"0.1.0", 2, {"h1", "h2"}}};
  return f;
}

void set(Facts& facts, const std::string& name, const std::string& value) {
  for (auto& each : facts.settings)
    if (each.name == name) each.value = value;
}

Facts with_gpu() {
  auto f = healthy();
  f.gpus = {.nvidia_cards = 4,
            .nvidia_module = "535.54.03",
            .nvidia_devices = 4,
            .nvidia_usable = true,
            .cuda_library = "535.54.03"};
  return f;
}

TEST(Judge, a_healthy_host_has_no_finding) {
  auto open_mpi_5 = healthy();
  open_mpi_5.software.mpi = "mpirun (Open MPI) 5.0.7";
  open_mpi_5.software.component_for = "5.0.7";
  for (const auto& facts : {healthy(), with_gpu(), open_mpi_5})
    for (const auto& each : judge(facts)) EXPECT_EQ(each.health, Health::well) << each.subject << ": " << each.found;
}

TEST(Judge, each_fault_is_named_with_its_remedy) {
  const struct {
    const char* name;
    std::function<void(Facts&)> fault;
    const char* subject;
    Health health;
    const char *found, *remedy;
  } rows[] = {
      {"a quota of the cgroup", [](Facts& f) { f.processors.quota = 1.5; }, "processors", Health::note, "grants 1.5",
       "--cpus"},
      {"an affinity mask", [](Facts& f) { f.processors.allowed = 2; }, "processors", Health::note, "2 of 8", "taskset"},
      {"a memory limit that is nearly reached",
       [](Facts& f) { f.memory.limit_bytes = 1000 * kMiB, f.memory.used_bytes = 900 * kMiB; }, "memory", Health::note,
       "100 MiB of it are free", "MemoryMax"},
      {"more used than granted", [](Facts& f) { f.memory.limit_bytes = 10 * kMiB, f.memory.used_bytes = 20 * kMiB; },
       "memory", Health::note, "0 MiB of it", "MemoryMax"},
      {"few files", [](Facts& f) { f.open_files.hard = 1024; }, "open files", Health::note, "at most 1024",
       "limits.conf"},
      {"a small /dev/shm", [](Facts& f) { f.shared_memory.free_bytes = 63 * kMiB; }, "/dev/shm", Health::note, "63 MiB",
       "remount,size=1g"},
      {"no /dev/shm", [](Facts& f) { f.shared_memory.error = "/dev/shm: No such file"; }, "/dev/shm", Health::note,
       "No such", "mount -t tmpfs"},
      {"Yama at 2",
       [](Facts& f) {
         f.single_copy = {false, "not permitted", 2};
       },
       "single copy (CMA)", Health::note, "ptrace_scope is 2", "sysctl -w kernel.yama.ptrace_scope=1"},
      {"Yama at 3",
       [](Facts& f) {
         f.single_copy = {false, "not permitted", 3};
       },
       "single copy (CMA)", Health::note, "ptrace_scope is 3", "start the machine again"},
      {"a container's seccomp",
       [](Facts& f) {
         f.single_copy = {false, "not permitted", 1};
       },
       "single copy (CMA)", Health::note, "not permitted", "SYS_PTRACE"},
      {"a slow clock", [](Facts& f) { f.clock.source = "hpet"; }, "clock", Health::note, "slow", "tsc"},
      {"a clock of its own", [](Facts& f) { f.clock.synchronised = false; }, "clock", Health::note, "not synchronised",
       "chrony"},
      {"no interface", [](Facts& f) { f.interfaces.clear(); }, "network", Health::bad, "loopback only", "ip -brief"},
      {"packets that vanish", [](Facts& f) { f.paths[0].fits = 1500; }, "path MTU", Health::bad,
       "more than 1500 bytes to h2", "mtu 1500"},
      {"packets that a router turns away", [](Facts& f) { f.paths[0].fits = 1400, f.paths[0].reported = true; },
       "path MTU", Health::note, "a router says so", "mtu 1400"},
      {"no own name",
       [](Facts& f) {
         f.names[0] = {"h1", "Name or service not known", {}, 1};
       },
       "host names", Health::bad, "does not resolve", "`10.0.0.1 h1`"},
      {"Debian's 127.0.1.1", [](Facts& f) { f.names[0].addresses = {"127.0.1.1"}; }, "host names", Health::bad,
       "127.0.1.1", "`10.0.0.1 h1`"},
      {"an old address", [](Facts& f) { f.names[0].addresses = {"10.9.9.9"}; }, "host names", Health::bad,
       "no address of this machine", "/etc/hosts"},
      {"a slow name service", [](Facts& f) { f.names[0].took_ms = 5000; }, "host names", Health::note, "5000 ms",
       "/etc/hosts"},
      {"an unknown host",
       [](Facts& f) {
         f.names[1] = {"h2", "no answer within 6 s", {}, 6000};
       },
       "host names", Health::bad, "h2 does not resolve", "`ADDRESS h2`"},
      {"a host that is oneself", [](Facts& f) { f.names[1].addresses = {"127.0.0.1"}; }, "host names", Health::bad,
       "this machine itself", "line of h2"},
      {"no window scaling", [](Facts& f) { set(f, "net.ipv4.tcp_window_scaling", "0"); }, "TCP settings", Health::note,
       "64 KiB", "tcp_window_scaling=\"1\""},
      {"no selective acknowledgement", [](Facts& f) { set(f, "net.ipv4.tcp_sack", "0"); }, "TCP settings", Health::note,
       "lost packet", "sysctl"},
      {"small buffers", [](Facts& f) { set(f, "net.ipv4.tcp_rmem", "4096 87380 1048575"); }, "TCP settings",
       Health::note, "1023 KiB", "sysctl"},
      {"a short backlog", [](Facts& f) { set(f, "net.core.somaxconn", "511"); }, "TCP settings", Health::note,
       "wait a second", "4096"},
      {"few ports", [](Facts& f) { set(f, "net.ipv4.ip_local_port_range", "40000 41998"); }, "TCP settings",
       Health::note, "1999 ports", "sysctl"},
      {"the manager's port is lent", [](Facts& f) { set(f, "net.ipv4.ip_local_port_range", "6126 60999"); },
       "TCP settings", Health::note, "6126", "sysctl"},
      {"BBR alone",
       [](Facts& f) {
         set(f, "net.ipv4.tcp_allowed_congestion_control", "bbr"), set(f, "net.ipv4.tcp_congestion_control", "bbr");
       },
       "TCP settings", Health::note, "only bbr", "reno cubic"},
      {"a device without its backend", [](Facts& f) { f.software.rdma_device = true; }, "RDMA", Health::note, "no ucx",
       "libucx0"},
      {"a device that UCX does not see",
       [](Facts& f) {
         f.software.rdma_device = f.software.ucx_backend = true;
         f.ucx = {.error = "", .version = "1.13.1", .transports = {{"tcp", {"eth0", "lo"}}, {"self", {"memory0"}}}};
       },
       "UCX", Health::note, "1.13.1: tcp (eth0, lo), self (memory0); none of an RDMA device", "ibv_devinfo"},
      {"no MPI", [](Facts& f) { f.software.mpi = ""; }, "MPI", Health::bad, "no mpirun", "apt-get install"},
      {"another MPI", [](Facts& f) { f.software.mpi = "mpirun (Open MPI) 5.0.7"; }, "MPI", Health::note, "5.0.7",
       "sumac run"},
      {"the component of another Open MPI 5",
       [](Facts& f) {
         f.software.mpi = "mpirun (Open MPI) 5.0.8";
         f.software.component_for = "5.0.7";
       },
       "MPI", Health::note, "5.0.8", "for Open MPI 5.0.7: put `sumac run`"},
      {"a component of 5.0 beside a 4.1", [](Facts& f) { f.software.component_for = "5.0.7"; }, "MPI", Health::note,
       "4.1.4", "for Open MPI 5.0.7: put `sumac run`"},
      {"an Open MPI 5 whose headers were not there",
       [](Facts& f) {
         f.software.mpi = "mpirun (Open MPI) 5.0.7";
         f.software.component = false;
       },
       "MPI", Health::note, "no component for it", "sumac run"},
      {"no component", [](Facts& f) { f.software.component = false; }, "MPI", Health::bad, "no component",
       "sumac-openmpi"},
      {"30 days", [](Facts& f) { f.secrets[0].until_s = kNow + 30 * kDay - 1; }, "certificates", Health::note,
       "ends in 29 days", "sumac pki issue --renew DIR host h1"},
      {"the last second", [](Facts& f) { f.secrets[0].until_s = kNow; }, "certificates", Health::bad,
       "ended on 2027-01-15", "--renew"},
      {"a second too early", [](Facts& f) { f.secrets[0].from_s = kNow + 1; }, "certificates", Health::bad,
       "is valid from", "clock"},
      {"a wrong name", [](Facts& f) { f.secrets[0].holder = "host h2"; }, "certificates", Health::bad, "is for host h2",
       "sumac pki issue DIR host h1"},
      {"a key for the world", [](Facts& f) { f.secrets[1].mode = 0644; }, "certificates", Health::bad, "mode 0644",
       "chmod 600"},
      {"a key that the group writes", [](Facts& f) { f.secrets[1].mode = 0660; }, "certificates", Health::bad,
       "mode 0660", "chmod 600"},
      {"no certificate",
       [](Facts& f) {
         f.secrets[0] = {.path = "/etc/x.crt", .kind = "certificate", .error = "No such file", .belongs_to = "host h1"};
       },
       "certificates", Health::bad, "No such file", "sumac pki issue DIR host h1"},
      {"an authority that ends",
       [](Facts& f) {
         f.secrets[0].holder = "authority a", f.secrets[0].path = "/etc/ca.crt", f.secrets[0].belongs_to = "",
         f.secrets[0].until_s = kNow + kDay;
       },
       "certificates", Health::note, "ends in 1 days", "sumac pki init"},
      {"no sharpd", [](Facts& f) { f.sharpd.state = "absent", f.sharpd.why = "nobody listens"; }, "sharpd", Health::bad,
       "nobody", "`systemctl enable --now sharpd` (packages), otherwise `sharp_daemons_setup.sh -s -d sharpd`"},
      {"a stopped sharpd", [](Facts& f) { f.sharpd.state = "silent"; }, "sharpd", Health::bad, "does not answer",
       "kill -CONT"},
      {"no manager", [](Facts& f) { f.manager.state = "absent"; }, "sharp_am", Health::bad, "no answer",
       "on its host `systemctl enable --now sharp_am` (packages), otherwise `sharp_daemons_setup.sh -s -d sharp_am`"},
      {"a manager that wants certificates", [](Facts& f) { f.manager.state = "untrusted"; }, "sharp_am", Health::bad,
       "no answer", "`--tls-dir DIR` (or SUMAC_TLS_DIR=DIR)"},
      {"a wrong manager", [](Facts& f) { f.manager.state = "wrong", f.manager.why = "x is no address"; }, "sharp_am",
       Health::bad, "x is no", "--manager"},
      {"a manager of a stranger", [](Facts& f) { f.manager.state = "denied"; }, "sharp_am", Health::bad, "no answer",
       "another user"},
      {"refused", [](Facts& f) { f.ports[1].state = "refused"; }, "daemon ports", Health::bad, "nobody listens",
       "start the daemon on 10.0.0.8"},
      {"filtered", [](Facts& f) { f.ports[1].state = "filtered"; }, "daemon ports", Health::bad, "firewall",
       "dport 7000 accept"},
      {"unreachable", [](Facts& f) { f.ports[1].state = "unreachable"; }, "daemon ports", Health::bad, "no route",
       "ip route get 10.0.0.8"},
      {"no name",
       [](Facts& f) {
         f.ports[0] = {"sharp_am", "mgr:6126", "unresolved"};
       },
       "daemon ports", Health::bad, "does not resolve", "mgr"},
      {"a node that is elsewhere",
       [](Facts& f) {
         f.daemons = {{"sharp_an", "an1", "mgr:6126", 7}};
       },
       "node names", Health::bad, "runs here (pid 7), but the manager knows it at 10.0.0.8", "--name"},
      {"two processes of one node",
       [](Facts& f) {
         f.daemons = {{"sharp_an", "an9", "mgr:6126", 7}, {"sharp_an", "an9", "mgr:6126", 8}};
       },
       "node names", Health::bad, "pids 7, 8", "--name"},
      {"a node that did not register", [](Facts& f) { f.manager.nodes[0].registered = false; }, "node names",
       Health::bad, "an1", "sharp_an --name"},
      {"an old manager", [](Facts& f) { f.manager.version = "0.0.9"; }, "versions", Health::note, "sharp_am is 0.0.9",
       "one version"},
      {"an old node", [](Facts& f) { f.manager.nodes[0].version = "0.0.9"; }, "versions", Health::note,
       "0.0.9 at 1 nodes (an1)", "one version"},
      {"old sharpds",
       [](Facts& f) {
         f.manager.sharpds.push_back({"0.0.9", 3, {"h8"}});
       },
       "versions", Health::note, "3 hosts (h8, ...)", "one version"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto facts = healthy();
    row.fault(facts);
    expect_only(judge(facts), row.subject, row.health, row.found, row.remedy);
  }
}

TEST(Judge, a_kernel_that_takes_no_program_is_no_fault) {
  auto facts = healthy();
  facts.hop = "load the program: Operation not permitted";
  const auto found = judge_hop(facts);
  EXPECT_EQ(found.health, Health::well);
  EXPECT_EQ(found.found, "not from this user: load the program: Operation not permitted");
}

TEST(Judge, gpus_and_their_drivers) {
  const struct {
    const char* name;
    std::function<void(Gpus&)> fault;
    const char *found, *remedy;
  } rows[] = {
      {"no driver", [](Gpus& g) { g = {.nvidia_cards = 1}; }, "driver is not loaded", "modprobe nvidia"},
      {"a container without devices", [](Gpus& g) { g.nvidia_devices = 0; }, "no /dev/nvidia0", "--gpus all"},
      {"devices of others", [](Gpus& g) { g.nvidia_usable = false; }, "may not open", "usermod"},
      {"no library", [](Gpus& g) { g.cuda_error = "cannot open shared object file"; }, "libcuda.so.1: cannot open",
       "libcuda1"},
      {"an upgrade without a restart", [](Gpus& g) { g.cuda_library = "550.90.07"; },
       "module 535.54.03, library 550.90.07", "start the machine"},
      {"a driver that fails", [](Gpus& g) { g.cuda_init = 999; }, "cuInit() returns 999", "nvidia-smi"},
      {"AMD without its module", [](Gpus& g) { g = {.amd_cards = 2}; }, "2 of AMD, but no /dev/kfd", "modprobe amdgpu"},
      {"AMD for others", [](Gpus& g) { g = {.amd_cards = 2, .amd_kfd = true}; }, "/dev/kfd", "usermod -aG render"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto facts = with_gpu();
    row.fault(facts.gpus);
    const auto found = judge_gpus(facts);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].health, Health::note);
    EXPECT_THAT(found[0].found, HasSubstr(row.found));
    EXPECT_THAT(found[0].remedy, HasSubstr(row.remedy));
  }
  EXPECT_EQ(judge_gpus(healthy())[0].found, "none");
  EXPECT_EQ(judge_gpus(with_gpu())[0].found, "4 of NVIDIA, driver 535.54.03");
}

TEST(Judge, on_one_machine_alone_a_cluster_is_no_fault) {
  auto facts = healthy();
  facts.cluster = false;
  facts.names[0].addresses = {"127.0.1.1"};
  facts.sharpd.state = facts.manager.state = "absent";
  for (const auto& each : judge(facts)) EXPECT_NE(each.health, Health::bad) << each.subject << ": " << each.found;
}

TEST(Judge, nodes_of_two_managers_may_have_one_name) {
  auto facts = healthy();
  facts.daemons = {{"sharp_an", "an1", "unix:/tmp/a/am.sock", 7}, {"sharp_an", "an1", "unix:/tmp/b/am.sock", 8}};
  for (const auto& each : judge_nodes(facts)) EXPECT_EQ(each.health, Health::well) << each.found;
}

TEST(Judge, a_path_that_answers_nothing_shows_nothing) {
  auto facts = healthy();
  facts.paths[0].fits = 0;
  EXPECT_TRUE(judge_paths(facts).empty());
}

TEST(Judge, versions_of_drivers) {
  EXPECT_EQ(
      nvidia_module_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023"),
      "535.54.03");
  EXPECT_EQ(nvidia_module_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07  Release Build"),
            "550.90.07");
  for (const auto* none : {"", "   ", "NVRM version:", "Tue Jun 6 22:20:39 UTC 2023"})
    EXPECT_EQ(nvidia_module_version(none), "") << none;
  EXPECT_EQ(version_of_file("/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03"), "535.54.03");
  for (const auto* none : {"", "/usr/lib/libcuda.so", "/usr/lib/libcuda.so.1", "/x.so.1/a"})
    EXPECT_EQ(version_of_file(none), "") << none;
}

}  // namespace
}  // namespace sumac::tools::doctor
