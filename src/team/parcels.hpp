#pragma once
// Collectives whose results differ from rank to rank: alltoall(v), reduce_scatter(_block) and scan over several islands.
// A schedule lists their phases; a Parcels knows where the blocks of each phase lie and does the work between phases:
// sorting at the leader, adding up, packing and unpacking. Run calls it in this order, for each chunk:
//
//   needs(), fill()               before each phase of shared memory
//   fill_across(), arrived()      leaders: before their collective starts, and after it is done
//   returned()                    behind the last phase
//   finish()                      once, when all chunks are done
//
// A team has one of each kind, since only its oldest operation moves; their memory stays from one operation to the
// next.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/operation.hpp"
#include "team/schedule.hpp"

namespace sumac::team {

class Parcels {
 public:
  virtual ~Parcels() = default;

  /// Returns false if no member of the island has anything to do in the phase, which all of them know.
  virtual bool needs(const Phase& phase) const = 0;
  virtual void fill(const Phase& phase, std::size_t chunk, coll::Operation& operation) = 0;
  virtual void fill_across(std::size_t chunk, coll::Operation& operation) = 0;
  /// Returns false if the senders have other sizes in mind than the receivers here.
  virtual bool arrived(std::size_t chunk) = 0;
  virtual void returned(std::size_t /*chunk*/) {}
  virtual void finish() {}
};

/// The bytes for each of several receivers or senders, one after the other, in the form that a v-form needs.
template <class Number>
struct RowOf {
  std::vector<Number> counts, displacements;

  void reset(std::size_t size) {
    counts.assign(size, 0);
    displacements.assign(size, 0);
  }
  void set(std::size_t i, std::size_t bytes, std::size_t offset) {
    counts[i] = static_cast<Number>(bytes);
    displacements[i] = static_cast<Number>(offset);
  }
  coll::Blocks blocks() const { return {counts.data(), displacements.data(), 1}; }
};
/// A row of the user's blocks.
using Row = RowOf<std::int64_t>;
/// A row of what leaders exchange, pieces and small blocks, by functions that know no larger numbers.
using SmallRow = RowOf<int>;

/// Memory that only grows and always has an address, because a call takes a null address as "in place".
struct Room {
  std::vector<std::byte> bytes = std::vector<std::byte>(1);

  std::byte* need(std::size_t size) {
    if (bytes.size() < size) bytes.resize(size);
    return bytes.data();
  }
  std::byte* data() { return bytes.data(); }
};

}  // namespace sumac::team
