#pragma once
// Builds the table that shm picks from, from a measured file and from SUMAC_SHM_<COLL>.
#include <string>
#include <vector>

#include "shm/algorithms.hpp"
#include "shm/group.hpp"
#include "team/options_handle.hpp"

namespace sumac::team {

/// Starts with the built-in table for `input`, then applies the file's choices (if `use_file`) and the algorithms that
/// the options force. An algorithm that `group` cannot use is replaced by the built-in one, and `remarks` gets a line
/// for explain. `no_copy` is the reason why the group has no single copy, if it was asked for. The result is the same
/// at every member of the group.
shm::Tuning tuning_for(const shm::TuningInput& input, const shm::Group& group, const OptionsHandle& handle,
                       bool use_file, const std::string& no_copy, std::vector<std::string>& remarks);

/// May the table for `input` hold an algorithm that reads other ranks' memory? The answer is the same at every member.
/// Only then is it worth asking the system whether that is allowed.
bool wants_single_copy(const shm::TuningInput& input, const OptionsHandle& handle, bool use_file);

}  // namespace sumac::team
