#pragma once
// The options of sharp_am.
#include <string>

#include "base/options.hpp"

namespace sumac::manager {

struct Config {
  std::string fabric;
  std::string listen;
  bool allow_insecure = false;
  std::uint32_t default_percent = 0;
  Millis grant_timeout{};
  std::uint32_t stream_window = 0;
  Bytes chunk{};
  std::uint32_t log_level = 0;
  std::string log_file;
};

inline constexpr Option<Config> kOptions[] = {
    option<&Config::fabric>("SUMAC_AM_FABRIC", "", "The fabric file (YAML): switches, hosts, nodes.").alias("fabric"),
    option<&Config::listen>("SUMAC_AM_LISTEN", "127.0.0.1:6126",
                            "Where nodes and sharpd find the manager: ADDR:PORT or unix:PATH.")
        .alias("listen"),
    option<&Config::allow_insecure>("SUMAC_AM_ALLOW_INSECURE", "0",
                                    "Talk in clear text beyond this machine: only on a network that is yours alone.")
        .alias("allow_insecure"),
    option<&Config::default_percent>("SUMAC_AM_DEFAULT_QUOTA_PERCENT", "10",
                                     "Share of OSTs and groups of a job that asks for none, in percent.")
        .alias("default_quota_percent")
        .alias("per_prio_default_quota")
        .between(1, 100),
    option<&Config::grant_timeout>("SUMAC_AM_GRANT_TIMEOUT", "5s",
                                   "A node silent for so long fails the begin of a job.")
        .alias("grant_timeout")
        .between(10, 600'000),
    option<&Config::stream_window>("SUMAC_AM_STREAM_WINDOW", "16", "Streaming chunks in flight of one group.")
        .alias("stream_window")
        .between(1, 64),
    option<&Config::chunk>("SUMAC_AM_CHUNK", "64KiB", "Bytes of one streaming chunk.")
        .alias("chunk")
        .between(1024, 1 << 20),
    option<&Config::log_level>("SUMAC_AM_LOG_LEVEL", "3", "1 error, 2 warn, 3 info, 4 debug, 5 trace.")
        .alias("log_verbosity")
        .alias("log_level")
        .between(1, 5),
    option<&Config::log_file>("SUMAC_AM_LOG_FILE", "", "Log file; none: stderr.").alias("log_file"),
};

}  // namespace sumac::manager
