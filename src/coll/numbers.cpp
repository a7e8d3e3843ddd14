// Compares the table with the numbers that other interfaces use for its rows.
#include "coll/collective.hpp"
#include "wire/agg.hpp"

namespace sumac::coll {
namespace {

constexpr bool rows_stand_at_their_kinds() {
  for (std::size_t i = 0; i < kCollectives.size(); ++i)
    if (index_of(kCollectives[i].kind) != i) return false;
  return true;
}
static_assert(rows_stand_at_their_kinds());

constexpr bool is_on_wire(Kind kind, wire::Coll number) {
  return collective(kind).wire == static_cast<std::uint8_t>(number);
}
static_assert(is_on_wire(Kind::barrier, wire::Coll::barrier));
static_assert(is_on_wire(Kind::allreduce, wire::Coll::allreduce));
static_assert(is_on_wire(Kind::reduce, wire::Coll::reduce));
static_assert(is_on_wire(Kind::bcast, wire::Coll::bcast));
static_assert(is_on_wire(Kind::reduce_scatter_block, wire::Coll::reduce_scatter));
static_assert(is_on_wire(Kind::allgather, wire::Coll::allgather));
static_assert(is_on_wire(Kind::allgatherv, wire::Coll::allgather));

}  // namespace
}  // namespace sumac::coll
