#pragma once
// A place of the lab: a set of own network, UTS, IPC, PID and mount namespaces, held by its first process, which starts
// programs on request and reaps what they leave. It dies with the lab's parent, and everything in the place with it.
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "lab/plan.hpp"

namespace sumac::lab {

/// Where a program inside a place finds the lab: listens in the place's own network namespace.
inline constexpr const char* kInsideSocket = "sumac-lab-inside";

/// Certificates of the place's daemons, and of people in it, as `sumac pki` names them.
inline constexpr const char* kTlsDirectory = "/run/sumac/tls";

struct PlaceOptions {
  std::vector<std::string> shared_directories;     ///< Below /tmp, /run or /dev/shm, and yet seen in every place.
  std::map<std::string, std::string> tls_files{};  ///< Texts by name, for kTlsDirectory; none: it is not made.
  bool privileged = true;  ///< false: in a user namespace, where the machine's /sys may have to stay.
};

/// The lab's side of a place.
struct RunningPlace {
  pid_t pid = -1;
  UniqueFd channel;   ///< Requests go here: "exec" with {connection, command, stdin, stdout, stderr[, ready]}.
  UniqueFd listener;  ///< Of kInsideSocket; the lab accepts.
};

/// Makes the namespaces and waits until the place has set itself up, but for its device. Call from the thread that lives as
/// long as the lab: the place dies with it.
Result<RunningPlace> start_place(const Plan& plan, std::size_t index, const PlaceOptions& options);
/// To be called once its devices are in its network namespace: addresses, neighbours, up.
Result<> connect_place(RunningPlace& place);

/// In the place, before anything else: private /dev/shm, /tmp, /run, /proc, /sys and /etc/hosts.
Result<> make_private_mounts(const Plan& plan, const PlaceOptions& options);

/// On a program's connection, from the place: "started" (sent by the program's own process, so its sender is the
/// program), "exited STATUS" (as from wait), "failed TEXT". To the place: "signal NUMBER". Closing it ends the program.

}  // namespace sumac::lab
