#pragma once
// The option table of sharp_an.
#include <string>

#include "base/options.hpp"
#include "control/places.hpp"

namespace sumac::node {

enum class Hop { off, automatic, trial, clear };
constexpr auto enum_names(Hop) {
  return std::array{EnumName<Hop>{"off", Hop::off}, EnumName<Hop>{"auto", Hop::automatic},
                    EnumName<Hop>{"trial", Hop::trial}, EnumName<Hop>{"clear", Hop::clear}};
}

enum class Backend { tcp, ucx };
constexpr auto enum_names(Backend) {
  return std::array{EnumName<Backend>{"tcp", Backend::tcp}, EnumName<Backend>{"ucx", Backend::ucx}};
}

struct Config {
  std::string name;
  std::string manager;
  bool allow_insecure = false;
  std::string tls_dir, tls_ca, tls_cert, tls_key;
  std::string listen;
  std::string device;
  Backend transport = Backend::tcp;
  std::uint32_t ost_count = 0, group_count = 0;
  Bytes payload_max{}, chunk_max{}, memory{};
  std::uint32_t stream_window_max = 0, streams = 0;
  Micros spin{};
  std::uint32_t spin_percent = 0;
  Millis heartbeat{}, lost_after{};
  Hop hop = Hop::off;
  std::string mcast;
  std::uint32_t mcast_hops = 0;
  std::string pin;
  std::string stats_file;
  std::string metrics_listen, metrics_cert, metrics_key, metrics_token;
  std::uint32_t log_level = 0;
  std::string log_file;
};

inline constexpr Option<Config> kOptions[] = {
    option<&Config::name>("SUMAC_NODE_NAME", "", "This node's name in the fabric file.").alias("name"),
    option<&Config::manager>("SUMAC_NODE_MANAGER", control::kManagerDefault,
                             "Where sharp_am is: unix:PATH or ADDR:PORT.")
        .alias("manager"),
    option<&Config::allow_insecure>("SUMAC_NODE_ALLOW_INSECURE", "0",
                                    "Talk in clear text over TCP: whoever answers there passes for the manager.")
        .alias("allow_insecure"),
    option<&Config::tls_dir>("SUMAC_NODE_TLS_DIR", "",
                             "Mutual TLS: directory with ca.crt, node-NAME.crt and node-NAME.key, as `sumac pki` "
                             "makes them.")
        .alias("tls_dir"),
    option<&Config::tls_ca>("SUMAC_NODE_TLS_CA", "",
                            "Instead of tls_dir, with tls_cert and tls_key: certificate of the authority (PEM).")
        .alias("tls_ca"),
    option<&Config::tls_cert>("SUMAC_NODE_TLS_CERT", "", "Instead of tls_dir: certificate of this node.")
        .alias("tls_cert"),
    option<&Config::tls_key>("SUMAC_NODE_TLS_KEY", "", "Instead of tls_dir: its private key; nobody else may read it.")
        .alias("tls_key"),
    option<&Config::listen>(
        "SUMAC_NODE_LISTEN", "0.0.0.0:0",
        "Where children connect: ADDR:PORT; port 0 picks one. A node in several trees counts up from here. 0.0.0.0: at "
        "every address, of IPv6 if the manager is reached by it.")
        .alias("listen"),
    option<&Config::device>(
        "SUMAC_NODE_DEVICE", "",
        "Interface whose address children are told (eth0); none: the one towards the manager, or on its "
        "machine the first with a carrier that is not loopback.")
        .alias("device"),
    option<&Config::transport>("SUMAC_NODE_TRANSPORT", "tcp", "How data travels; the whole tree uses the same.")
        .alias("transport"),
    option<&Config::ost_count>("SUMAC_NODE_OST_COUNT", "32768",
                               "OSTs (operations in flight) held at once for all jobs, in each tree.")
        .alias("ost_count")
        .between(1, 65535),
    option<&Config::group_count>("SUMAC_NODE_GROUP_COUNT", "512",
                                 "Groups (communicators) held at once for all jobs, in each tree.")
        .alias("group_count")
        .between(1, 65535),
    option<&Config::payload_max>("SUMAC_NODE_PAYLOAD_MAX", "1KiB",
                                 "Largest payload of one OST that a job may be granted.")
        .alias("payload_max")
        .between(128, 1 << 20),
    option<&Config::chunk_max>("SUMAC_NODE_CHUNK_MAX", "64KiB", "Largest chunk of streaming.")
        .alias("chunk_max")
        .between(1024, 1 << 20),
    option<&Config::stream_window_max>("SUMAC_NODE_STREAM_WINDOW_MAX", "64",
                                       "Most streaming chunks in flight of one group.")
        .alias("stream_window_max")
        .between(1, 64),
    option<&Config::streams>("SUMAC_NODE_STREAMS", "64",
                             "Groups that may stream at once (hold the streaming lock); 0: none may.")
        .alias("streams")
        .between(0, 65535),
    option<&Config::memory>("SUMAC_NODE_MEMORY", "1GiB",
                            "Bound of the buffers for messages, in each tree; at the bound the node reads no further.")
        .alias("memory")
        .between(1 << 20, std::int64_t{1} << 40),
    option<&Config::spin>("SUMAC_NODE_SPIN", "100us",
                          "Look for the next message for so long before sleeping; 0: never.")
        .alias("spin")
        .between(0, 1'000'000),
    option<&Config::spin_percent>("SUMAC_NODE_SPIN_PERCENT", "10", "Share of a core that looking in vain may take.")
        .alias("spin_percent")
        .between(0, 100),
    option<&Config::heartbeat>("SUMAC_NODE_HEARTBEAT", "200ms",
                               "How often every rank and neighbour node hears that this node lives.")
        .alias("heartbeat")
        .between(10, 3'600'000),
    option<&Config::lost_after>("SUMAC_NODE_LOST_AFTER", "10s", "Silence of a neighbour node: its link is given up.")
        .alias("lost_after")
        .between(20, 3'600'000),
    option<&Config::hop>(
        "SUMAC_NODE_HOP", "off",
        "auto: the kernel adds up small operations as datagrams come in, and no process wakes; it needs the "
        "rights of root, and without them all goes by TCP. off: all goes by TCP. trial: only print whether this kernel "
        "and these rights allow it. clear: only remove what a killed process has left in the kernel.")
        .alias("hop"),
    option<&Config::mcast>("SUMAC_NODE_MCAST", "auto",
                           "Small results also go by UDP multicast to members who listen: auto (in trees of more "
                           "than one level), on, off, or the first of 65536 addresses to use (239.255.0.0:5383).")
        .alias("mcast"),
    option<&Config::mcast_hops>("SUMAC_NODE_MCAST_HOPS", "1", "Networks that a multicast may cross; 1: this one only.")
        .alias("mcast_hops")
        .between(1, 255),
    option<&Config::pin>(
        "SUMAC_NODE_PIN", "",
        "Processors for the data path's threads, one each in turn (2 or 0,4-7); none: the system chooses.")
        .alias("pin"),
    option<&Config::stats_file>(
        "SUMAC_NODE_STATS_FILE", "",
        "Statistics as JSON are written here at the end and on SIGUSR1: a file of its own, not through a link.")
        .alias("stats_file")
        .updatable(),
    option<&Config::metrics_listen>("SUMAC_NODE_METRICS_LISTEN", "",
                                    "Where Prometheus finds /metrics: 127.0.0.1:PORT or unix:PATH; another address "
                                    "needs metrics_cert, metrics_key and metrics_token; none: no metrics.")
        .alias("metrics_listen"),
    option<&Config::metrics_cert>("SUMAC_NODE_METRICS_CERT", "", "Certificate of /metrics (PEM): it is served by TLS.")
        .alias("metrics_cert"),
    option<&Config::metrics_key>("SUMAC_NODE_METRICS_KEY", "", "Its private key; nobody else may read it.")
        .alias("metrics_key"),
    option<&Config::metrics_token>("SUMAC_NODE_METRICS_TOKEN", "",
                                   "File whose first line clients of /metrics send as bearer token; nobody else may "
                                   "read it.")
        .alias("metrics_token"),
    option<&Config::log_level>("SUMAC_NODE_LOG_LEVEL", "2", "1 error, 2 warn, 3 info, 4 debug, 5 trace.")
        .alias("log_verbosity")
        .updatable()
        .alias("log_level")
        .between(1, 5),
    option<&Config::log_file>("SUMAC_NODE_LOG_FILE", "", "Log file; none: stderr.").alias("log_file"),
};

}  // namespace sumac::node
