#include "bindings/pmpi/errors.hpp"

#include <map>
#include <mutex>

#include "bindings/common/failure.h"
#include "bindings/pmpi/communicator.hpp"

namespace sumac::pmpi {

namespace {
/// Codes live until MPI_Finalize, so a program that goes on failing for ever new reasons finally gets MPI_ERR_OTHER.
constexpr std::size_t kReasonsMax = 32;
}  // namespace

int error_code(const std::string& words) {
  static std::mutex lock;
  static std::map<std::string, int> codes;
  const std::string text = words.substr(0, MPI_MAX_ERROR_STRING - 1);
  const std::lock_guard guard(lock);
  if (const auto known = codes.find(text); known != codes.end()) return known->second;
  int code = MPI_ERR_OTHER;
  if (codes.size() == kReasonsMax || mpi.Add_error_code(MPI_ERR_OTHER, &code) != MPI_SUCCESS) return MPI_ERR_OTHER;
  (void)mpi.Add_error_string(code, text.c_str());
  codes.emplace(text, code);
  return code;
}

int failed(Lane& lane, int coll, int status) {
  if (status == SUMAC_TEAM_NO_MEMORY) return MPI_ERR_NO_MEM;
  Communicator& communicator = *lane.owner;
  return error_code(sumac_team_failure(lane.team, static_cast<sumac_coll>(coll), communicator.rank,
                                       name_of(communicator).c_str(), &communicator.is_broken));
}

int raise(MPI_Comm comm, int code) {
  (void)mpi.Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace sumac::pmpi
