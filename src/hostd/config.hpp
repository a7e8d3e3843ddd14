#pragma once
// The option table of sharpd.
#include <string>

#include "base/options.hpp"
#include "control/places.hpp"

namespace sumac::hostd {

struct Config {
  std::string manager;
  bool allow_insecure = false;
  std::string tls_dir, tls_ca, tls_cert, tls_key;
  std::string socket;
  std::string host, devices;
  Millis manager_timeout{};
  std::uint32_t clients_max = 0, user_clients_max = 0;
  std::string metrics_listen, metrics_cert, metrics_key, metrics_token;
  std::uint32_t log_level = 0;
  std::string log_file;
};

inline constexpr Option<Config> kOptions[] = {
    option<&Config::manager>("SUMAC_HOSTD_MANAGER", control::kManagerDefault,
                             "Where sharp_am is: unix:PATH or ADDR:PORT.")
        .alias("manager"),
    option<&Config::allow_insecure>("SUMAC_HOSTD_ALLOW_INSECURE", "0",
                                    "Talk in clear text over TCP: whoever answers there passes for the manager.")
        .alias("allow_insecure"),
    option<&Config::tls_dir>("SUMAC_HOSTD_TLS_DIR", "",
                             "Mutual TLS: directory with ca.crt, host-NAME.crt and host-NAME.key, as `sumac pki` "
                             "makes them.")
        .alias("tls_dir"),
    option<&Config::tls_ca>("SUMAC_HOSTD_TLS_CA", "",
                            "Instead of tls_dir, with tls_cert and tls_key: certificate of the authority (PEM).")
        .alias("tls_ca"),
    option<&Config::tls_cert>("SUMAC_HOSTD_TLS_CERT", "", "Instead of tls_dir: certificate of this host.")
        .alias("tls_cert"),
    option<&Config::tls_key>("SUMAC_HOSTD_TLS_KEY", "", "Instead of tls_dir: its private key; nobody else may read it.")
        .alias("tls_key"),
    option<&Config::socket>("SHARP_COLL_SHARPD_SOCKET_NAME", "/run/sumac/sharpd.sock",
                            "The socket that programs on this host connect to; they read the same variable.")
        .alias("socket"),
    option<&Config::host>("SUMAC_HOSTD_HOST", "",
                          "This host's name in the fabric file; none: what the system calls it.")
        .alias("host"),
    option<&Config::devices>("SUMAC_HOSTD_DEVICES", "",
                             "Ports by which programs of this host join their trees unless they name others: "
                             "mlx5_0:1,mlx5_1:1; none: the system's choice.")
        .alias("ib_dev")
        .alias("devices"),
    option<&Config::manager_timeout>("SUMAC_HOSTD_MANAGER_TIMEOUT", "15s",
                                     "A manager silent for so long about a job is given up.")
        .alias("manager_timeout")
        .updatable()
        .between(10, 600'000),
    option<&Config::clients_max>("SUMAC_HOSTD_CLIENTS_MAX", "4096", "Processes attached at once.")
        .alias("clients_max")
        .updatable()
        .between(1, 65536),
    option<&Config::user_clients_max>("SUMAC_HOSTD_USER_CLIENTS_MAX", "1024", "Processes of one user attached at once.")
        .alias("user_clients_max")
        .updatable()
        .between(1, 65536),
    option<&Config::metrics_listen>("SUMAC_HOSTD_METRICS_LISTEN", "",
                                    "Where Prometheus finds /metrics: 127.0.0.1:PORT or unix:PATH; another address "
                                    "needs metrics_cert, metrics_key and metrics_token; none: no metrics.")
        .alias("metrics_listen"),
    option<&Config::metrics_cert>("SUMAC_HOSTD_METRICS_CERT", "", "Certificate of /metrics (PEM): it is served by TLS.")
        .alias("metrics_cert"),
    option<&Config::metrics_key>("SUMAC_HOSTD_METRICS_KEY", "", "Its private key; nobody else may read it.")
        .alias("metrics_key"),
    option<&Config::metrics_token>("SUMAC_HOSTD_METRICS_TOKEN", "",
                                   "File whose first line clients of /metrics send as bearer token; nobody else may "
                                   "read it.")
        .alias("metrics_token"),
    option<&Config::log_level>("SUMAC_HOSTD_LOG_LEVEL", "2", "1 error, 2 warn, 3 info, 4 debug, 5 trace.")
        .alias("log_verbosity")
        .updatable()
        .alias("sharpd_log_level")
        .alias("log_level")
        .between(1, 5),
    option<&Config::log_file>("SUMAC_HOSTD_LOG_FILE", "", "Log file; none: stderr.").alias("log_file"),
};

}  // namespace sumac::hostd
