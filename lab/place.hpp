#pragma once
// A Place of the lab is a set of its own network, UTS, IPC, PID and mount namespaces, held by their first process,
// which starts programs on request and reaps their orphans. It dies with the lab's parent, and everything in the
// namespaces dies with it.
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "lab/plan.hpp"

namespace sumac::lab {

/// A program inside finds the lab at this name: the lab listens in the program's own network namespace.
inline constexpr const char* kInsideSocket = "sumac-lab-inside";

/// Certificates of the namespace's daemons, and of people in it, with the names that `sumac pki` uses.
inline constexpr const char* kTlsDirectory = "/run/sumac/tls";

struct PlaceOptions {
  /// Directories below /tmp, /run or /dev/shm that all namespaces nevertheless share.
  std::vector<std::string> shared_directories;
  std::map<std::string, std::string> tls_files{};  ///< [name]: text, for files in kTlsDirectory; empty: it is not made.
  std::uint64_t shm_bytes = 0, tmp_bytes = 0;      ///< Sizes of /dev/shm and /tmp; 0: half of the machine's memory.
  bool privileged = true;  ///< false: in a user namespace, where the machine's /sys may have to stay.
};

/// The lab's side of a Place.
struct RunningPlace {
  pid_t pid = -1;
  UniqueFd channel;   ///< Requests go here: "exec" with {connection, command, stdin, stdout, stderr[, ready]}.
  UniqueFd listener;  ///< The socket of kInsideSocket; the lab accepts.
};

/// Makes the namespaces and waits until everything but the devices is set up. Call it from the thread that lives as
/// long as the lab: the namespaces die with that thread.
Result<RunningPlace> start_place(const Plan& plan, std::size_t index, const PlaceOptions& options);
/// Sets addresses and neighbours and brings the devices up; call it once they are in the network namespace.
Result<> connect_place(RunningPlace& place);

/// Mounts a private /dev/shm, /tmp, /run, /proc, /sys and /etc/hosts; call it in the namespace, before anything else.
Result<> make_private_mounts(const Plan& plan, const PlaceOptions& options);

/// Messages on a program's connection, from the namespace: "started" (sent by the program's own process, so its sender
/// is the program), "exited STATUS" (as from wait), "failed TEXT". To the namespace: "signal NUMBER". Closing the
/// connection ends the program.

}  // namespace sumac::lab
