#include "team/tuning.hpp"

#include <algorithm>

namespace sumac::team {
namespace {

constexpr std::string_view kSingle = "single";

bool is_usable(const shm::Algorithm& algorithm, const shm::Group& group) {
  return algorithm.usable == nullptr || algorithm.usable(group);
}

/// Returns a row that the group can use: `name` up to `bytes_max`, or else the built-in algorithm.
shm::Tuning::Row row_for(coll::Kind kind, const std::string& name, std::size_t bytes_max, const shm::Tuning& built_in,
                         const shm::Group& group, const std::string& no_copy, std::vector<std::string>& remarks) {
  const shm::Algorithm* algorithm = shm::find_algorithm(kind, name);
  std::string_view why;
  if (algorithm == nullptr) {
    why = "there is none of that name";
  } else if (!is_usable(*algorithm, group)) {
    why = name == kSingle && !no_copy.empty() ? std::string_view(no_copy)
                                              : "the group's areas in shared memory are too small for its members";
  } else if (algorithm->bytes_max < bytes_max) {
    why = "it is not for so many bytes";
  }
  if (why.empty()) return {bytes_max, algorithm};
  const shm::Algorithm* other = built_in.pick(kind, bytes_max);
  remarks.push_back(
      fmt::format("{} by \"{}\" refused: {}; \"{}\" instead", coll::to_string(kind), name, why, other->name));
  return {bytes_max, other};
}

}  // namespace

shm::Tuning tuning_for(const shm::TuningInput& input, const shm::Group& group, const OptionsHandle& handle,
                       bool use_file, const std::string& no_copy, std::vector<std::string>& remarks) {
  const shm::Tuning built_in = shm::default_tuning(input);
  shm::Tuning tuning = built_in;
  const auto& forced = handle.options.forced;
  for (std::size_t c = 0; c < coll::kCollectives.size(); ++c) {
    const auto kind = static_cast<coll::Kind>(c);
    auto& rows = tuning.rows[c];
    if (forced[c] != "auto") {
      rows.fill(row_for(kind, forced[c], SIZE_MAX, built_in, group, no_copy, remarks));
      continue;
    }
    if (!use_file) continue;
    const auto choices =
        choices_for(handle.tuning, coll::to_string(kind), static_cast<std::uint32_t>(input.size), input.crowded);
    if (choices.empty()) continue;
    const std::size_t count = std::min(choices.size(), rows.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bytes_max = i + 1 < count ? static_cast<std::size_t>(choices[i + 1].from_bytes) - 1 : SIZE_MAX;
      rows[i] = row_for(kind, choices[i].algorithm, bytes_max, built_in, group, no_copy, remarks);
    }
    for (std::size_t i = count; i < rows.size(); ++i) rows[i] = rows[count - 1];
  }
  return tuning;
}

bool wants_single_copy(const shm::TuningInput& input, const OptionsHandle& handle, bool use_file) {
  for (const auto& name : handle.options.forced)
    if (name == kSingle) return true;
  for (const auto& choice : handle.tuning.choices)
    if (use_file && choice.algorithm == kSingle) return true;
  return shm::may_copy_once(input);
}

}  // namespace sumac::team
