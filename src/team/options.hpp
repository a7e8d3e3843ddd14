#pragma once
// The variables that set into which levels a communicator is cut and which primitive moves its data; this is the only
// declaration. All ranks must have the same values (the binding compares signature()), except for the path of the
// tuning file, which may differ from host to host.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/options.hpp"
#include "coll/collective.hpp"
#include "topo/levels.hpp"

namespace sumac::team {

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
  std::array<bool, coll::kKinds> disabled{};  ///< Indexed by kind.
  bool no_other = false;                      ///< Switches for collectives that the next module does in any case.
  bool explain = false;
  std::string tuning_file;
  Backing backing = Backing::automatic;
  bool single_copy = true;
  bool spread = true;
  bool reproducible = false;
  bool steps_aside = true;
  Steps steps = Steps::automatic;
  Bytes chunk{};
  std::uint32_t depth = 0;
  Bytes alltoall_max{};
  /// For each kind the name of an algorithm of shm, or "auto".
  std::array<std::string, coll::kKinds> forced;
};

namespace detail {

/// Two constant strings joined, with a closing zero.
template <const std::string_view& First, const std::string_view& Second>
struct Joined {
  static constexpr auto kBytes = [] {
    std::array<char, First.size() + Second.size() + 1> bytes{};
    std::copy(Second.begin(), Second.end(), std::copy(First.begin(), First.end(), bytes.begin()));
    return bytes;
  }();
  static constexpr std::string_view kText{kBytes.data(), kBytes.size() - 1};
};

inline constexpr std::string_view kDisablePrefix = "HCOLL_ML_DISABLE_", kForcePrefix = "SUMAC_SHM_";
inline constexpr std::string_view kForce =
    "Algorithm inside a host, by the name that SUMAC_EXPLAIN=1 shows; auto: by size.";
inline constexpr std::string_view kDisable = "1: this collective is the next module's, in all its forms.";
inline constexpr std::string_view kOther = "The next module does this collective in any case.";

template <std::size_t Kind>
inline constexpr std::string_view kVariable = coll::kCollectives[Kind].variable;

/// One option for each collective, in the order of the table.
template <std::size_t... Kinds>
constexpr auto disable_each(std::index_sequence<Kinds...>) {
  return std::array{
      option_at<&Options::disabled, Kinds>(Joined<kDisablePrefix, kVariable<Kinds>>::kText, "0", kDisable)...};
}
template <std::size_t... Kinds>
constexpr auto force_each(std::index_sequence<Kinds...>) {
  return std::array{
      option_at<&Options::forced, Kinds>(Joined<kForcePrefix, kVariable<Kinds>>::kText, "auto", kForce)...};
}

constexpr Option<Options> other(std::string_view name) {
  return option<&Options::no_other>(name, "0", kOther).hidden();
}

template <std::size_t... Sizes>
constexpr auto concatenated(const std::array<Option<Options>, Sizes>&... parts) {
  std::array<Option<Options>, (Sizes + ...)> all{};
  auto at = all.begin();
  ((at = std::copy(parts.begin(), parts.end(), at)), ...);
  return all;
}

inline constexpr std::array kLevels{
    option<&Options::sbgp>(
        "HCOLL_SBGP", topo::kSbgpDefault,
        "The levels that a communicator's ranks are cut into, from the innermost: basesmsocket (ranks of a "
        "domain: of a NUMA node where the ranks' nodes divide sockets, else of a socket), basesmuma (leaders so far, "
        "or all ranks, of a host), p2p (leaders so far, or all ranks). "
        "Without basesmuma each domain has a leader of its own between hosts (multi-channel)."),
    option<&Options::bcol>(
        "HCOLL_BCOL", "",
        "What moves the data on each level of HCOLL_SBGP, one to one: basesmuma (shared memory; for "
        "basesmsocket and basesmuma), ucx_p2p (the tree or MPI; for p2p; it stands in for cc and ibnet, which a "
        "line then says). None: the only one that fits."),
};

inline constexpr std::array kOthers{
    other("HCOLL_ML_DISABLE_ALLTOALLW"),
};

inline constexpr std::array kRest{
    option<&Options::explain>(
        "SUMAC_EXPLAIN", "0",
        "1: for each communicator, collective and size one line on stderr: what was chosen, what was "
        "refused, and why. A table that the process has printed before is one line, which names the earlier "
        "communicator."),
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
    option<&Options::reproducible>(
        "SUMAC_REPRODUCIBLE", "0",
        "1: sums and products of floating-point numbers are added along a fixed tree of the communicator's ranks, "
        "inside hosts and between them, so they have the same bits in every run, on every network and for every "
        "placement of the ranks. 0: their bits may depend on the placement."),
    option<&Options::steps_aside>(
        "SUMAC_TEAM_STEP_ASIDE", "1",
        "Blocking calls that move 16 KiB or more inside a host (bcast, allgather, alltoall, gather, scatter) are timed "
        "against the next module's in the program's first calls of their size, and are left to it where it is faster. "
        "0: shared memory does all of them."),
    option<&Options::steps>(
        "SUMAC_TEAM_LEVELS", "auto",
        "Small collectives go domain by domain (by NUMA node or socket: HCOLL_SBGP) where a host has several "
        "(always), or all its ranks meet at once (never). auto: by domain, unless ranks outnumber processors."),
    option<&Options::chunk>(
        "SUMAC_TEAM_CHUNK", "256KiB",
        "Over several hosts a large collective is cut into chunks of this size, and the phases of successive "
        "chunks overlap.")
        .between(1024, 1 << 30),
    option<&Options::depth>("SUMAC_TEAM_DEPTH", "4", "Pieces of one collective that are between hosts at once.")
        .between(1, 16),
    option<&Options::alltoall_max>(
        "SUMAC_TEAM_ALLTOALL_MAX", "1KiB",
        "Over several hosts blocks of alltoall, gather, scatter and their v-forms up to this size go by the hosts' "
        "leaders, one message for each pair of hosts; larger ones go from rank to rank. 0: all of them are the next "
        "module's.")
        .between(0, 1 << 20),
};

inline constexpr auto kEachKind = std::make_index_sequence<coll::kKinds>{};
}  // namespace detail

inline constexpr auto kOptions =
    detail::concatenated(detail::kLevels, detail::disable_each(detail::kEachKind), detail::kOthers, detail::kRest,
                         detail::force_each(detail::kEachKind));

/// Returns the name of the option that selects shared memory's algorithm for a collective.
constexpr std::string_view force_variable(coll::Kind kind) {
  return kOptions[kOptions.size() - coll::kKinds + index_of(kind)].name;
}

}  // namespace sumac::team
