#pragma once
// The object behind sumac_team_options_t: read once in a process, used by all its teams.
#include <memory>
#include <string>
#include <vector>

#include "machine/cpu_share.hpp"
#include "team/options.hpp"
#include "team/team.h"
#include "team/tuning_file.hpp"

namespace sumac::team {

struct OptionsHandle {
  Options options;
  std::vector<topo::Level> levels;
  machine::CpuShare share;  ///< The CPUs of this process; it was bound before the program began.
  TuningFile tuning;        ///< Without choices the built-in ones apply.
  std::string tuning_path;  ///< The file with these choices.
  /// Ranks compare these when they make a team. They are computed once, since that takes longer than the rest of a team.
  struct Digests {
    std::uint64_t options = 0, tuning = 0;
  } digests;
};

/// `remark` gets a line for users if a tuning file is not used.
Result<std::unique_ptr<OptionsHandle>> read_options(std::string& remark);
/// Fills `digests` from the other members.
void digest(OptionsHandle& handle);

inline OptionsHandle* as_handle(sumac_team_options_t* options) { return reinterpret_cast<OptionsHandle*>(options); }
inline const OptionsHandle* as_handle(const sumac_team_options_t* options) {
  return reinterpret_cast<const OptionsHandle*>(options);
}

}  // namespace sumac::team
