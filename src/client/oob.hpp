#pragma once
// The caller's three out-of-band functions, and agreement by them. Before the tree exists no other channel reaches a
// peer, and every rank must return the same code from a collective call. A rank that failed reports that in the gather
// instead of staying away, so that no rank waits for it.
#include <sharp/api/sharp_coll.h>

#include <span>
#include <type_traits>
#include <vector>

#include "client/status.hpp"

namespace sumac::client {

class Oob {
 public:
  Oob(const sharp_coll_out_of_band_colls& functions, void* context, int rank, int size)
      : functions_(functions), context_(context), rank_(rank), size_(size) {}

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Sends `bytes` from rank 0 to all.
  Outcome<> bcast(std::span<std::byte> bytes) const;
  /// Collects `mine` of each rank, in rank order, at rank 0; empty elsewhere.
  template <class T>
  Outcome<std::vector<T>> gather(T mine) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
    if (auto done = gather_bytes(&mine, all.data(), sizeof(T)); !done) return tl::unexpected(done.error());
    return all;
  }
  template <class T>
  Outcome<> bcast_value(T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return bcast(std::as_writable_bytes(std::span(&value, 1)));
  }

  /// All ranks get one rank's failure (first_failure()), with that rank's text; success only if all succeeded.
  Outcome<> agree(const Outcome<>& mine) const;

 private:
  Outcome<> gather_bytes(void* mine, void* all, std::size_t bytes) const;
  sharp_coll_out_of_band_colls functions_;
  void* context_;
  int rank_, size_;
};

/// A Failure in the form in which it travels between ranks.
struct Report {
  int status = 0;
  std::uint16_t in_vain = 0;  ///< 1: the rank only waited in vain.
  std::uint16_t no_room = 0;  ///< 1: Failure::no_room.
  char text[248] = {};
  char host[64] = {};  ///< The name of the rank's machine: a reader must know where to look.
  static Report of(const Outcome<>& outcome);
  Outcome<> outcome() const;
};
static_assert(sizeof(Report) == 320);

/// Returns the first failure in rank order, with "rank 3 (host b): ..." before its text. A rank that only waited in
/// vain counts if no other failed.
Report first_failure(std::span<const Report> reports);

}  // namespace sumac::client
