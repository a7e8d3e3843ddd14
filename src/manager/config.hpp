#pragma once
// The option table of sharp_am.
#include <string>

#include "base/options.hpp"
#include "control/places.hpp"

namespace sumac::manager {

struct Config {
  std::string fabric, root_guids, ib_port_guid;
  std::uint32_t trees = 0, radix = 0;
  std::string listen, daemon_users;
  bool allow_insecure = false;
  std::string tls_dir, tls_ca, tls_cert, tls_key;
  std::string state_dir;
  Millis lease{}, renew{}, node_away{};
  std::uint32_t default_percent = 0;
  std::uint32_t user_jobs_max = 0, user_share_max = 0;
  bool reservation_mode = false;
  std::string reservations;
  Millis grant_timeout{};
  std::uint32_t trees_again_max = 0;
  std::uint32_t group_channels_max = 0;
  std::uint32_t stream_window = 0;
  Bytes chunk{};
  std::string metrics_listen, metrics_cert, metrics_key, metrics_token;
  std::string page_listen, page_cert, page_key;
  std::uint32_t log_level = 0;
  std::string log_file;
};

inline constexpr Option<Config> kOptions[] = {
    option<&Config::fabric>(
        "SUMAC_AM_FABRIC", "",
        "The fabric file, YAML or what ibnetdiscover printed, read again on SIGHUP; none: the fabric "
        "is what registers, all at one switch.")
        .alias("fabric")
        .alias("fabric_lst_file"),
    option<&Config::root_guids>(
        "SUMAC_AM_ROOT_GUIDS_FILE", "",
        "File of GUIDs, one a line, of switches (or nodes) where roots of trees may be. Without a "
        "fabric file any node may be one.")
        .alias("root_guids_file"),
    option<&Config::ib_port_guid>(
        "SUMAC_AM_IB_PORT_GUID", "",
        "The InfiniBand port of managers that need one. sharp_am listens at `listen` instead, "
        "as a line of its log says.")
        .alias("ib_port_guid"),
    option<&Config::trees>("SUMAC_AM_TREES", "0", "Trees of the fabric; 0: as the fabric file says.")
        .alias("trees")
        .between(0, 64),
    option<&Config::radix>("SUMAC_AM_RADIX", "0", "Children of one node; 0: as the fabric file says.")
        .alias("radix")
        .alias("max_tree_radix")
        .between(0, 65535),
    option<&Config::node_away>("SUMAC_AM_NODE_AWAY", "3s",
                               "A node that the manager has not heard of for so long is down: trees do without it. "
                               "One that a neighbour has not heard for so long gets no new jobs.")
        .alias("node_away")
        .between(10, 3'600'000),
    option<&Config::listen>("SUMAC_AM_LISTEN", control::kManagerDefault,
                            "Where nodes and sharpd find the manager: unix:PATH on this machine, ADDR:PORT for others; "
                            "several with commas between.")
        .alias("listen"),
    option<&Config::daemon_users>("SUMAC_AM_DAEMON_USERS", control::kDaemonUsersDefault,
                                  "Users of this machine, beside root and the manager's own, whose processes may "
                                  "register as node or sharpd by the unix socket: names or numbers, commas between.")
        .alias("daemon_users"),
    option<&Config::allow_insecure>("SUMAC_AM_ALLOW_INSECURE", "0",
                                    "Talk in clear text over TCP: anybody on that network may be a daemon.")
        .alias("allow_insecure"),
    option<&Config::tls_dir>("SUMAC_AM_TLS_DIR", "",
                             "Mutual TLS: directory with ca.crt, manager-NAME.crt and manager-NAME.key, as `sumac pki` "
                             "makes them.")
        .alias("tls_dir"),
    option<&Config::tls_ca>("SUMAC_AM_TLS_CA", "",
                            "Instead of tls_dir, with tls_cert and tls_key: certificate of the authority (PEM).")
        .alias("tls_ca"),
    option<&Config::tls_cert>("SUMAC_AM_TLS_CERT", "", "Instead of tls_dir: certificate of this manager.")
        .alias("tls_cert"),
    option<&Config::tls_key>("SUMAC_AM_TLS_KEY", "", "Instead of tls_dir: its private key; nobody else may read it.")
        .alias("tls_key"),
    option<&Config::state_dir>(
        "SUMAC_AM_STATE_DIR", "",
        "Directory of the state that survives a restart; none: a restarted manager knows no jobs.")
        .alias("state_dir")
        .alias("dump_dir"),
    option<&Config::lease>("SUMAC_AM_LEASE", "8s", "A job that its sharpd has not renewed for so long is released.")
        .alias("lease")
        .between(100, 3'600'000),
    option<&Config::renew>("SUMAC_AM_RENEW", "2s", "How often sharpd renews its jobs; at most half a lease.")
        .alias("renew")
        .alias("smx_keepalive_interval")
        .between(20, 1'800'000),
    option<&Config::user_jobs_max>("SUMAC_AM_USER_JOBS_MAX", "0", "Most jobs of one user at once; 0: no limit.")
        .alias("user_jobs_max")
        .updatable(),
    option<&Config::user_share_max>("SUMAC_AM_USER_SHARE_MAX_PERCENT", "0",
                                    "Share of OSTs, of groups and of each node's connections that one user's jobs may "
                                    "hold together, in percent; "
                                    "0: 50 where sharp_am runs as root or a "
                                    "system user (below 1000), 100 where it is a person's own.")
        .alias("user_share_max_percent")
        .updatable()
        .between(0, 100),
    option<&Config::reservation_mode>("SUMAC_AM_RESERVATION_MODE", "0",
                                      "Jobs run only on hosts that one reservation names (reservations).")
        .alias("reservation_mode")
        .updatable(),
    option<&Config::reservations>("SUMAC_AM_RESERVATIONS", "",
                                  "File of reservations, one a line: NAME [uid=N]: HOST HOST ....")
        .alias("reservations")
        .updatable(),
    option<&Config::default_percent>("SUMAC_AM_DEFAULT_QUOTA_PERCENT", "10",
                                     "Share of OSTs and groups of a job that asks for none, in percent.")
        .alias("default_quota_percent")
        .updatable()
        .alias("per_prio_default_quota")
        .between(1, 100),
    option<&Config::grant_timeout>("SUMAC_AM_GRANT_TIMEOUT", "5s",
                                   "A node silent for so long fails the begin of a job.")
        .alias("grant_timeout")
        .updatable()
        .between(10, 600'000),
    option<&Config::trees_again_max>("SUMAC_AM_TREES_AGAIN_MAX", "1000",
                                     "How often a job that goes on without its tree (SUMAC_RECOVERY) is given a tree "
                                     "again; 0: never.")
        .alias("trees_again_max")
        .updatable(),
    option<&Config::group_channels_max>(
        "SUMAC_AM_MAX_GROUP_CHANNELS", "0",
        "Most channels of a job: members of one of its groups on one host; 0: no limit.")
        .alias("max_group_channels")
        .updatable()
        .between(0, 65535),
    option<&Config::stream_window>("SUMAC_AM_STREAM_WINDOW", "16",
                                   "Streaming chunks in flight of one group; 0: no job streams.")
        .alias("stream_window")
        .updatable()
        .between(0, 64),
    option<&Config::chunk>("SUMAC_AM_CHUNK", "64KiB", "Bytes of one streaming chunk.")
        .alias("chunk")
        .updatable()
        .between(1024, 1 << 20),
    option<&Config::metrics_listen>("SUMAC_AM_METRICS_LISTEN", "",
                                    "Where Prometheus finds /metrics: 127.0.0.1:PORT or unix:PATH; another address "
                                    "needs metrics_cert, metrics_key and metrics_token; none: no metrics.")
        .alias("metrics_listen"),
    option<&Config::metrics_cert>("SUMAC_AM_METRICS_CERT", "", "Certificate of /metrics (PEM): it is served by TLS.")
        .alias("metrics_cert"),
    option<&Config::metrics_key>("SUMAC_AM_METRICS_KEY", "", "Its private key; nobody else may read it.")
        .alias("metrics_key"),
    option<&Config::metrics_token>("SUMAC_AM_METRICS_TOKEN", "",
                                   "File whose first line clients of /metrics send as bearer token; nobody else may "
                                   "read it.")
        .alias("metrics_token"),
    option<&Config::page_listen>(
        "SUMAC_AM_PAGE_LISTEN", "",
        "Where browsers find the page of this manager: 127.0.0.1:PORT (0: any) or unix:PATH; another "
        "address needs page_cert and page_key; `sumac page` prints the address with its "
        "token; none: no page.")
        .alias("page_listen"),
    option<&Config::page_cert>("SUMAC_AM_PAGE_CERT", "", "Certificate of the page (PEM): it is served by TLS.")
        .alias("page_cert"),
    option<&Config::page_key>("SUMAC_AM_PAGE_KEY", "", "Its private key; nobody else may read it.").alias("page_key"),
    option<&Config::log_level>("SUMAC_AM_LOG_LEVEL", "3", "1 error, 2 warn, 3 info, 4 debug, 5 trace.")
        .alias("log_verbosity")
        .updatable()
        .alias("log_level")
        .between(1, 5),
    option<&Config::log_file>("SUMAC_AM_LOG_FILE", "", "Log file; none: stderr.").alias("log_file"),
};

}  // namespace sumac::manager
