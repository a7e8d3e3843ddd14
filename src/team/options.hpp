#pragma once
// The variables that say how a communicator is cut into levels and what moves its data: declared once, here. All ranks
// must have the same (the binding compares signature()); where the tuning file lies is a host's own business.
#include <array>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "shm/call.hpp"
#include "topo/levels.hpp"

namespace sumac::team {

/// Collectives of a team: those of shm, whose numbers they are.
inline constexpr std::size_t kColls = static_cast<std::size_t>(shm::kCollCount);

enum class Backing { automatic, memfd, devshm };
constexpr auto enum_names(Backing) {
  return std::array{EnumName<Backing>{"auto", Backing::automatic}, EnumName<Backing>{"memfd", Backing::memfd},
                    EnumName<Backing>{"devshm", Backing::devshm}};
}

enum class Steps { automatic, always, never };
constexpr auto enum_names(Steps) {
  return std::array{EnumName<Steps>{"auto", Steps::automatic}, EnumName<Steps>{"always", Steps::always},
                    EnumName<Steps>{"never", Steps::never}};
}

struct Options {
  std::string sbgp, bcol;
  bool no_barrier = false, no_allreduce = false, no_reduce = false, no_bcast = false, no_allgather = false,
       no_allgatherv = false, no_alltoall = false, no_alltoallv = false, no_reduce_scatter_block = false;
  bool no_other = false;  ///< Collectives that are the next module's anyway.
  bool explain = false;
  std::string tuning_file;
  Backing backing = Backing::automatic;
  bool single_copy = true;
  bool spread = true;
  Steps steps = Steps::automatic;
  Bytes chunk{};
  std::uint32_t depth = 0;
  Bytes alltoall_max{};
  std::string barrier, allreduce, reduce, bcast, allgather, allgatherv, alltoall, alltoallv, reduce_scatter_block;

  std::array<bool, kColls> disabled() const {
    return {no_barrier,   no_allreduce,           no_reduce, no_bcast, no_allgather, no_allgatherv, no_alltoall,
            no_alltoallv, no_reduce_scatter_block};
  }
  /// Names of algorithms that were asked for; "auto" or one of shm's.
  std::array<std::string_view, kColls> forced() const {
    return {barrier, allreduce, reduce, bcast, allgather, allgatherv, alltoall, alltoallv, reduce_scatter_block};
  }
};

namespace detail {
template <auto Member>
constexpr Option<Options> disable(std::string_view name, std::string_view doc) {
  return option<Member>(name, "0", doc);
}
template <auto Member>
constexpr Option<Options> force(std::string_view name, std::string_view doc) {
  return option<Member>(name, "auto", doc);
}
inline constexpr std::string_view kForce =
    "Algorithm inside a host, by the name that SUMAC_EXPLAIN=1 shows; auto: by size.";
inline constexpr std::string_view kDisable = "1: this collective is the next module's, in all its forms.";
inline constexpr std::string_view kOther = "The next module does this collective in any case.";
}  // namespace detail

inline constexpr Option<Options> kOptions[] = {
    option<&Options::sbgp>(
        "HCOLL_SBGP", topo::kSbgpDefault,
        "The levels that a communicator's ranks are cut into, from the innermost: basesmsocket (ranks of a "
        "socket), basesmuma (leaders so far, or all ranks, of a host), p2p (leaders so far, or all ranks). "
        "Without basesmuma each socket has a leader of its own between hosts (multi-channel)."),
    option<&Options::bcol>(
        "HCOLL_BCOL", "",
        "What moves the data on each level of HCOLL_SBGP, one to one: basesmuma (shared memory; for "
        "basesmsocket and basesmuma), ucx_p2p (the tree or MPI; for p2p). None: the only one that fits."),
    detail::disable<&Options::no_barrier>("HCOLL_ML_DISABLE_BARRIER", detail::kDisable),
    detail::disable<&Options::no_allreduce>("HCOLL_ML_DISABLE_ALLREDUCE", detail::kDisable),
    detail::disable<&Options::no_reduce>("HCOLL_ML_DISABLE_REDUCE", detail::kDisable),
    detail::disable<&Options::no_bcast>("HCOLL_ML_DISABLE_BCAST", detail::kDisable),
    detail::disable<&Options::no_allgather>("HCOLL_ML_DISABLE_ALLGATHER", detail::kDisable),
    detail::disable<&Options::no_allgatherv>("HCOLL_ML_DISABLE_ALLGATHERV", detail::kDisable),
    detail::disable<&Options::no_alltoall>("HCOLL_ML_DISABLE_ALLTOALL", detail::kDisable),
    detail::disable<&Options::no_alltoallv>("HCOLL_ML_DISABLE_ALLTOALLV", detail::kDisable),
    detail::disable<&Options::no_reduce_scatter_block>("HCOLL_ML_DISABLE_REDUCE_SCATTER_BLOCK", detail::kDisable),
    detail::disable<&Options::no_other>("HCOLL_ML_DISABLE_GATHER", detail::kOther).hidden(),
    detail::disable<&Options::no_other>("HCOLL_ML_DISABLE_GATHERV", detail::kOther).hidden(),
    detail::disable<&Options::no_other>("HCOLL_ML_DISABLE_SCATTER", detail::kOther).hidden(),
    detail::disable<&Options::no_other>("HCOLL_ML_DISABLE_SCATTERV", detail::kOther).hidden(),
    detail::disable<&Options::no_other>("HCOLL_ML_DISABLE_ALLTOALLW", detail::kOther).hidden(),
    detail::disable<&Options::no_other>("HCOLL_ML_DISABLE_REDUCE_SCATTER", detail::kOther).hidden(),
    detail::disable<&Options::no_other>("HCOLL_ML_DISABLE_SCAN", detail::kOther).hidden(),
    detail::disable<&Options::no_other>("HCOLL_ML_DISABLE_EXSCAN", detail::kOther).hidden(),
    option<&Options::explain>(
        "SUMAC_EXPLAIN", "0",
        "1: for each communicator, collective and size one line on stderr: what was chosen, what was "
        "refused, and why."),
    option<&Options::tuning_file>(
        "SUMAC_TUNING_FILE", "",
        "What `sumac tune` measured on this machine. None: $XDG_CONFIG_HOME/sumac/tuning.json, or "
        "~/.config/sumac/tuning.json, if it is there; \"none\": the built-in choice."),
    option<&Options::backing>(
        "SUMAC_SHM_BACKING", "auto",
        "What holds the memory that ranks of a host share: memfd (has no name and needs no room in "
        "/dev/shm), devshm (a file there, unlinked at once). auto: memfd, or devshm where it is refused."),
    option<&Options::single_copy>(
        "SUMAC_SHM_SINGLE_COPY", "1",
        "0: ranks of a host never read or write each other's memory directly (cross memory "
        "attach), also where the system lets them and an algorithm that does so (single) is "
        "chosen. Two ranks with a core each time it against shared memory in their first calls of each "
        "large size, and choose by the times. 1: each rank lets every "
        "process of its user read and write its memory (PR_SET_PTRACER_ANY), which the "
        "kernel's Yama would else keep to its parents; set 0 where that matters."),
    option<&Options::spread>(
        "SUMAC_SHM_SPREAD", "1",
        "With more ranks than processors, a rank that finds its processor fuller than another that "
        "it may use moves there. 0: where ranks run is left to the kernel."),
    option<&Options::steps>(
        "SUMAC_TEAM_LEVELS", "auto",
        "Small collectives go socket by socket where a host has several (always), or all its ranks meet at "
        "once (never). auto: by socket, unless ranks outnumber processors."),
    option<&Options::chunk>(
        "SUMAC_TEAM_CHUNK", "256KiB",
        "Over several hosts a large collective is cut into pieces of this size, and the phases of successive "
        "pieces overlap.")
        .between(1024, 1 << 30),
    option<&Options::depth>("SUMAC_TEAM_DEPTH", "4", "Pieces of one collective that are between hosts at once.")
        .between(1, 16),
    option<&Options::alltoall_max>(
        "SUMAC_TEAM_ALLTOALL_MAX", "1KiB",
        "Over several hosts blocks of alltoall and alltoallv up to this size go by the hosts' leaders, one message for "
        "each pair of hosts; larger ones go from rank to rank. 0: both collectives are the next module's.")
        .between(0, 1 << 20),
    detail::force<&Options::barrier>("SUMAC_SHM_BARRIER", detail::kForce),
    detail::force<&Options::allreduce>("SUMAC_SHM_ALLREDUCE", detail::kForce),
    detail::force<&Options::reduce>("SUMAC_SHM_REDUCE", detail::kForce),
    detail::force<&Options::bcast>("SUMAC_SHM_BCAST", detail::kForce),
    detail::force<&Options::allgather>("SUMAC_SHM_ALLGATHER", detail::kForce),
    detail::force<&Options::allgatherv>("SUMAC_SHM_ALLGATHERV", detail::kForce),
    detail::force<&Options::alltoall>("SUMAC_SHM_ALLTOALL", detail::kForce),
    detail::force<&Options::alltoallv>("SUMAC_SHM_ALLTOALLV", detail::kForce),
    detail::force<&Options::reduce_scatter_block>("SUMAC_SHM_REDUCE_SCATTER_BLOCK", detail::kForce),
};

/// Where SUMAC_SHM_BARRIER stands; the other collectives follow in shm's order.
inline constexpr std::size_t kForcedFirst = std::size(kOptions) - kColls;
static_assert(kOptions[kForcedFirst].name == "SUMAC_SHM_BARRIER");

}  // namespace sumac::team
