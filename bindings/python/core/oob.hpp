#pragma once
// An exchange over the store, as those parts of src/rank that make the tree's job and its groups see the ranks of a communicator.
#include <string>

#include "bindings/python/core/store.hpp"
#include "rank/communicator.h"

namespace sumac::python {

class Oob {
 public:
  Oob(Exchange& exchange, std::string name);
  Oob(const Oob&) = delete;

  const sumac_communicator& record() const noexcept { return record_; }
  /// From here on every function fails: the exchange is over.
  void close() noexcept { exchange_ = nullptr; }
  /// The same for sumac_team_spec_t::oob: `context` is an Oob, and `out` gets what each rank has in `in`.
  static int allgather(void* context, const void* in, void* out, std::size_t bytes);
  const std::string& error() const noexcept { return error_; }  ///< Why a function has failed.

 private:
  template <class Use>
  int use(Use use);

  Exchange* exchange_;
  std::string name_, error_;
  sumac_communicator record_{};
};

}  // namespace sumac::python
