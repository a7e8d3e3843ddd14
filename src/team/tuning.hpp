#pragma once
// From a measured file and from SUMAC_SHM_<COLL> to the table that shm picks from.
#include <string>
#include <vector>

#include "shm/algorithms.hpp"
#include "shm/group.hpp"
#include "team/options_handle.hpp"

namespace sumac::team {

/// The built-in table for `input`, then the file's choices (where `use_file`), then what the options force. What
/// `group` cannot use stays built-in, and `remarks` gets a line for explain. `no_copy`: why it has no single copy, if it was asked.
/// Alike at every member of the group.
shm::Tuning tuning_for(const shm::TuningInput& input, const shm::Group& group, const OptionsHandle& handle,
                       bool use_file, const std::string& no_copy, std::vector<std::string>& remarks);

/// May the table for `input` hold an algorithm that reads other ranks' memory? Alike at every member. Only then is it
/// worth asking the system whether that is allowed.
bool wants_single_copy(const shm::TuningInput& input, const OptionsHandle& handle, bool use_file);

}  // namespace sumac::team
