#pragma once
// The content of one case, drawn from its seed: every rank draws the same. A case is one to four collectives on one
// communicator, in any of three forms, mixed.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "coll/collective.hpp"

namespace sumac::tests {

using Coll = coll::Kind;
inline constexpr int kColls = coll::kKinds;

enum class Form : std::uint8_t { blocking, nonblocking, persistent };

/// The communicators of a case: some are made once and used by many cases, the last one comes and goes.
enum class Where : std::uint8_t { world, duplicate, reversed, odd_even, halves_reversed, single, fresh };
inline constexpr int kPlaces = 7;

struct Step {
  Coll coll = Coll::barrier;
  Form form = Form::blocking;
  std::size_t type = 0, operation = 0;  ///< Indices into the tables of values.hpp.
  std::size_t count = 0;                ///< Elements of the vector or of one block; v-forms: of the largest block.
  std::uint32_t root_draw = 0;          ///< Used modulo the size of the communicator.
  bool in_place = false;
  bool is_rough = false;  ///< Floats with random mantissas: near the right value, equal at all ranks.
  /// Every rank describes its buffers by a type of its own; in a reduction all do by the same derived type.
  bool has_own_types = false;
  int starts = 1;         ///< Number of starts of a persistent operation.
  std::uint64_t key = 0;  ///< Key from which the data follow.
};

struct Scenario {
  std::uint64_t seed = 0;
  Where where = Where::world;
  bool is_skewed = false;  ///< Ranks are late, each by its own draw.
  std::vector<Step> steps;
};

/// `ranks` of the world bounds the bytes of a case. `is_tame`: leaves out the mistakes of Open MPI 4.1's own
/// collectives, for runs in which some of them pass through. If types differ from rank to rank, allgatherv and bcast
/// decide differently and hang, and a large alltoall into types with gaps aborts ("buffer overflow detected");
/// nonblocking and persistent collectives mixed on one communicator (a persistent alltoallv in place, later an ireduce)
/// wait for each other for ever. `only`: no other collectives than these.
Scenario draw_scenario(std::uint64_t seed, int ranks, bool is_tame = false, const std::vector<Coll>& only = {});

std::string to_string(Form form);
std::string to_string(Where where);
std::string describe(const Step& step);

/// Mixes several numbers into one, for data that any rank can compute.
std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0, std::uint64_t d = 0);

}  // namespace sumac::tests
