#pragma once
// A reduction over several islands whose bits must be those of the canonical tree over the team's ranks, where what is
// between the hosts does not add along it: the values travel, and the ranks add them. Ranks may lie on hosts in any
// order.
//
//   small   every rank gets all values and adds those of its result; a scan of any size
//   large   every rank gets its block of all vectors and adds it (an alltoallv); then the sums go to those who need
//           them: to all (an allgatherv), to the root (a gatherv), or to nobody else (reduce_scatter, reduce_scatter_block)
//
// Each step is a collective of the team, so it uses shared memory inside the hosts. A team has one object of this class,
// since only its oldest operation moves.
#include <cstdint>
#include <vector>

#include "coll/operation.hpp"
#include "shm/task.hpp"
#include "team/parcels.hpp"
#include "team/run.hpp"

struct sumac_team;

namespace sumac::team {

class OrderedSum {
 public:
  explicit OrderedSum(sumac_team& team) : team_(team) {}

  /// True if something between the hosts gathers values. The same at every rank.
  static bool can_gather(const sumac_team& team) noexcept;

  /// `operation` is kept by address.
  void begin(const coll::Operation& operation);
  /// Returns `failed` once the team is broken; the team has the reason.
  shm::Step advance();
  /// As Run::let_go().
  void let_go() { part_.let_go(); }
  /// The step under way.
  const Run& part() const noexcept { return part_; }

 private:
  enum class At : std::uint8_t { gather, exchange, give };

  bool can_exchange() const noexcept;
  void start(const coll::Operation& step);
  void gather_next();
  void add_gathered();
  void exchange();
  void add_block();
  void give();
  /// Adds `bytes` of the values of the ranks that this rank's result is made of, which begin `stride` bytes after each other.
  void add(std::byte* out, std::size_t bytes, const std::byte* values, std::size_t stride);
  int operands() const noexcept;
  std::size_t begin_of_block(int rank) const;
  std::size_t bytes_of_block(int rank) const;

  sumac_team& team_;
  const coll::Operation* operation_ = nullptr;
  const std::byte* in_ = nullptr;  ///< This rank's values.
  std::size_t whole_ = 0;          ///< The bytes of one rank's values.
  std::size_t ranks_ = 0;
  At at_ = At::gather;
  std::size_t offset_ = 0, step_ = 0;  ///< The part that is gathered now, in bytes.
  Row blocks_, comes_;                 ///< In elements: the ranks' blocks of the values; what arrives of ours.
  std::size_t own_ = 0;                ///< The bytes of our block.
  coll::Operation call_;               ///< The step under way.
  Run part_;
  Room values_, sum_, spare_;
};

}  // namespace sumac::team
