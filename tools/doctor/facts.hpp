#pragma once
// The facts that `sumac doctor` collects on one host: plain values, without a judgement. Each struct lists its fields
// once, in describe(), for the writer and the reader of report.cpp.
#include <cstdint>
#include <string>
#include <vector>

namespace sumac::tools::doctor {

using Strings = std::vector<std::string>;

struct Processors {
  std::int64_t online = 0, allowed = 0;
  double quota = 0;  ///< Processors that the cgroups grant; 0: no quota.
};
template <class V>
void describe(V& v, Processors& p) {
  v("online", p.online), v("allowed", p.allowed), v("quota", p.quota);
}

struct Memory {
  std::int64_t total_bytes = 0;
  std::int64_t limit_bytes = 0, used_bytes = 0;  ///< The numbers of the cgroup that leaves least; 0: no limit.
};
template <class V>
void describe(V& v, Memory& m) {
  v("total_bytes", m.total_bytes), v("limit_bytes", m.limit_bytes), v("used_bytes", m.used_bytes);
}

struct SharedMemory {
  std::string error;  ///< The reason why the file system can't be asked.
  std::int64_t free_bytes = 0;
};
template <class V>
void describe(V& v, SharedMemory& s) {
  v("error", s.error), v("free_bytes", s.free_bytes);
}

struct SingleCopy {
  bool works = false;
  std::string why;         ///< The reason why it does not work.
  std::int64_t yama = -1;  ///< kernel.yama.ptrace_scope; -1: this kernel has no Yama.
};
template <class V>
void describe(V& v, SingleCopy& s) {
  v("works", s.works), v("why", s.why), v("yama", s.yama);
}

struct OpenFiles {
  std::int64_t soft = -1, hard = -1;  ///< -1: no limit.
};
template <class V>
void describe(V& v, OpenFiles& o) {
  v("soft", o.soft), v("hard", o.hard);
}

struct Clock {
  std::string source;
  bool synchronised = false;
};
template <class V>
void describe(V& v, Clock& c) {
  v("source", c.source), v("synchronised", c.synchronised);
}

/// A network interface that is up and has an address; loopback is left out.
struct Interface {
  std::string name;
  std::int64_t mtu = 0;
  Strings addresses;  ///< "10.77.0.1/16"
};
template <class V>
void describe(V& v, Interface& i) {
  v("name", i.name), v("mtu", i.mtu), v("addresses", i.addresses);
}

/// The addresses that a name has, as this host resolves it.
struct Name {
  std::string name, error;
  Strings addresses;
  std::int64_t took_ms = 0;
};
template <class V>
void describe(V& v, Name& n) {
  v("name", n.name), v("error", n.error), v("addresses", n.addresses), v("took_ms", n.took_ms);
}

/// A daemon's port, as a connect() from this host finds it.
struct Port {
  std::string daemon, address;
  std::string state;  ///< open, refused, filtered (no answer), unreachable, unresolved
};
template <class V>
void describe(V& v, Port& p) {
  v("daemon", p.daemon), v("address", p.address), v("state", p.state);
}

/// The route to another host: packets of the interface's size that must not be fragmented.
struct Path {
  std::string peer, address, interface;
  std::int64_t interface_mtu = 0;
  std::int64_t fits = 0;  ///< The largest packet that arrived; 0: the peer answers none, so nothing is known.
  bool reported = false;  ///< A router said that the packet is too large; otherwise it vanished.
};
template <class V>
void describe(V& v, Path& p) {
  v("peer", p.peer), v("address", p.address), v("interface", p.interface), v("interface_mtu", p.interface_mtu),
      v("fits", p.fits), v("reported", p.reported);
}

/// The kernel's settings that the doctor asks for. Others have no effect on Sumac: its sockets leave their buffers to the
/// kernel, so that net.core.rmem_max and wmem_max do not limit them.
inline constexpr const char* kSettingNames[] = {"net.core.somaxconn",
                                                "net.ipv4.ip_local_port_range",
                                                "net.ipv4.tcp_rmem",
                                                "net.ipv4.tcp_wmem",
                                                "net.ipv4.tcp_window_scaling",
                                                "net.ipv4.tcp_sack",
                                                "net.ipv4.tcp_moderate_rcvbuf",
                                                "net.ipv4.tcp_available_congestion_control",
                                                "net.ipv4.tcp_mtu_probing",
                                                "net.ipv4.tcp_allowed_congestion_control",
                                                "net.ipv4.ip_no_pmtu_disc",
                                                "net.ipv4.tcp_slow_start_after_idle",
                                                "net.ipv4.conf.all.rp_filter",
                                                "net.ipv4.tcp_congestion_control",
                                                "kernel.yama.ptrace_scope"};

struct Setting {
  std::string name, value;  ///< "net.ipv4.tcp_sack", "1"
};
template <class V>
void describe(V& v, Setting& s) {
  v("name", s.name), v("value", s.value);
}

/// A certificate, key or token that the environment, a daemon or its configuration names.
struct SecretFile {
  std::string path, kind;  ///< kind: certificate, web certificate (of /metrics, by any authority), key, token
  std::string error;       ///< The reason why it can't be used.
  std::string holder;      ///< The certificate's: "node an-root".
  std::int64_t from_s = 0, until_s = 0;
  std::int64_t mode = 0;   ///< Permission bits.
  std::string belongs_to;  ///< The daemon that uses it, as its certificate must name it: "host h1". Empty: not known.
};
template <class V>
void describe(V& v, SecretFile& f) {
  v("path", f.path), v("kind", f.kind), v("error", f.error), v("holder", f.holder), v("from_s", f.from_s),
      v("until_s", f.until_s), v("mode", f.mode), v("belongs_to", f.belongs_to);
}

struct Gpus {
  std::int64_t nvidia_cards = 0;    ///< On the PCI bus, with a driver or without.
  std::string nvidia_module;        ///< Version of the kernel module; empty: not loaded.
  std::int64_t nvidia_devices = 0;  ///< /dev/nvidia0 and so on.
  bool nvidia_usable = false;       ///< This user may open the first of them.
  std::string cuda_error;           ///< The reason why libcuda.so.1 can't be loaded; empty: it can.
  std::string cuda_library;         ///< Version in the name of its file, "535.54.03".
  std::int64_t cuda_init = 0;       ///< The result of cuInit(); 0: it works.
  std::int64_t amd_cards = 0;
  bool amd_kfd = false, amd_usable = false;
};
template <class V>
void describe(V& v, Gpus& g) {
  v("nvidia_cards", g.nvidia_cards), v("nvidia_module", g.nvidia_module), v("nvidia_devices", g.nvidia_devices),
      v("nvidia_usable", g.nvidia_usable), v("cuda_error", g.cuda_error), v("cuda_library", g.cuda_library),
      v("cuda_init", g.cuda_init), v("amd_cards", g.amd_cards), v("amd_kfd", g.amd_kfd), v("amd_usable", g.amd_usable);
}

struct Library {
  std::string name, checksum;
};
template <class V>
void describe(V& v, Library& l) {
  v("name", l.name), v("checksum", l.checksum);
}

struct Software {
  std::string mpi;  ///< The first line of `mpirun --version`; empty: no mpirun.
  bool component = false;
  std::string component_for;  ///< The Open MPI that it was built for, "5.0.7"; empty: a 4.1.
  bool rdma_device = false, ucx_backend = false;
  std::vector<Library> libraries;  ///< Sumac's own, beside this program.
};
template <class V>
void describe(V& v, Software& s) {
  v("mpi", s.mpi), v("component", s.component), v("component_for", s.component_for), v("rdma_device", s.rdma_device),
      v("ucx_backend", s.ucx_backend), v("libraries", s.libraries);
}

/// A transport of UCX, such as tcp, with the devices that it found.
struct Transport {
  std::string name;
  Strings devices;
};
template <class V>
void describe(V& v, Transport& t) {
  v("name", t.name), v("devices", t.devices);
}

/// The answer of UCX's own program (`ucx_info -v -d`).
struct Ucx {
  std::string error;    ///< The reason why nothing is known; empty: it answered.
  std::string version;  ///< "1.13.1"
  std::vector<Transport> transports;
};
template <class V>
void describe(V& v, Ucx& u) {
  v("error", u.error), v("version", u.version), v("transports", u.transports);
}

struct Sharpd {
  std::string socket;
  std::string state;  ///< answers, absent, silent
  std::string why;
  std::string host;  ///< The host's name, as sharpd says it.
};
template <class V>
void describe(V& v, Sharpd& s) {
  v("socket", s.socket), v("state", s.state), v("why", s.why), v("host", s.host);
}

/// A node as the manager lists it.
struct KnownNode {
  std::string name, address, version;
  bool registered = false;
  std::string silent;  ///< The neighbour that does not hear it; empty: all do.
};
template <class V>
void describe(V& v, KnownNode& n) {
  v("name", n.name), v("address", n.address), v("version", n.version), v("registered", n.registered),
      v("silent", n.silent);
}

/// The sharpds of one version, as the manager counts them.
struct SharpdVersion {
  std::string version;
  std::int64_t hosts = 0;
  Strings some;  ///< Names of a few of them.
};
template <class V>
void describe(V& v, SharpdVersion& s) {
  v("version", s.version), v("hosts", s.hosts), v("some", s.some);
}

struct Manager {
  std::string endpoint;
  std::string
      state;  ///< answers, absent, untrusted (the TLS handshake failed), denied, wrong (an address or a file that
              ///< makes no sense)
  std::string why, version;
  std::int64_t uptime_ms = 0;
  std::vector<KnownNode> nodes;
  std::vector<SharpdVersion> sharpds;
  Strings elsewhere;  ///< Hosts of connected sharpds that the fabric does not have.
};
template <class V>
void describe(V& v, Manager& m) {
  v("endpoint", m.endpoint), v("state", m.state), v("why", m.why), v("version", m.version), v("uptime_ms", m.uptime_ms),
      v("nodes", m.nodes), v("sharpds", m.sharpds), v("elsewhere", m.elsewhere);
}

/// A daemon of Sumac's that runs on this host.
struct LocalDaemon {
  std::string program, name;  ///< "sharp_an", "an-leaf1"
  std::string manager;        ///< The manager at which it registers.
  std::int64_t pid = 0;
};
template <class V>
void describe(V& v, LocalDaemon& d) {
  v("program", d.program), v("name", d.name), v("manager", d.manager), v("pid", d.pid);
}

struct Facts {
  std::string host, sumac, kernel;
  bool cluster = false;    ///< Other hosts matter: hosts, a fabric file or a manager were named.
  std::int64_t now_s = 0;  ///< The host's clock, in seconds since 1970.
  Processors processors;
  Memory memory;
  OpenFiles open_files;
  SharedMemory shared_memory;
  SingleCopy single_copy;
  Clock clock;
  std::vector<Interface> interfaces;
  std::vector<Name> names;  ///< The host's own name is the first.
  std::vector<Path> paths;
  std::vector<Port> ports;
  std::vector<Setting> settings;
  std::vector<SecretFile> secrets;
  Gpus gpus;
  Software software;
  Ucx ucx;
  std::string hop;  ///< "allowed", or the reason why a node's kernel can add up nothing.
  Sharpd sharpd;
  Manager manager;
  std::vector<LocalDaemon> daemons;
};
template <class V>
void describe(V& v, Facts& f) {
  v("host", f.host), v("sumac", f.sumac), v("kernel", f.kernel), v("cluster", f.cluster), v("now_s", f.now_s),
      v("processors", f.processors), v("memory", f.memory), v("open_files", f.open_files),
      v("shared_memory", f.shared_memory), v("single_copy", f.single_copy), v("clock", f.clock),
      v("interfaces", f.interfaces), v("names", f.names), v("paths", f.paths), v("ports", f.ports),
      v("settings", f.settings), v("secrets", f.secrets), v("gpus", f.gpus), v("software", f.software), v("ucx", f.ucx),
      v("hop", f.hop), v("sharpd", f.sharpd), v("manager", f.manager), v("daemons", f.daemons);
}

}  // namespace sumac::tools::doctor
