// The C interface of the option table.
#include <algorithm>

#include "team/options.hpp"

#include "base/c_text.hpp"
#include "base/fnv.hpp"
#include "base/our_variables.hpp"
#include "machine/discover.hpp"
#include "machine/fingerprint.hpp"
#include "shm/algorithms.hpp"
#include "team/options_handle.hpp"

namespace sumac::team {
namespace {

Result<> check_forced(const Options& options) {
  for (std::size_t c = 0; c < coll::kCollectives.size(); ++c) {
    const auto kind = static_cast<coll::Kind>(c);
    const std::string& name = options.forced[c];
    if (name == "auto" || shm::find_algorithm(kind, name) != nullptr) continue;
    std::string legal = "auto";
    for (const auto& algorithm : shm::algorithms())
      if (algorithm.kind == kind) legal += fmt::format(", {}", algorithm.name);
    return fail(Errc::invalid, "{}={}: expected one of {}", force_variable(kind), name, legal);
  }
  return {};
}

/// Reads the measured file. Returns a remark if it is not used.
std::string read_tuning(OptionsHandle& handle) {
  const std::string path = tuning_path(handle.options.tuning_file);
  if (path.empty()) return {};
  // The machine is examined only if there is a file, which most processes do not have.
  const bool is_named = !handle.options.tuning_file.empty();
  if (::access(path.c_str(), F_OK) != 0) {
    if (!is_named) return {};
    return fmt::format("{}: no such file: run `sumac tune`; going on with the built-in choice", path);
  }
  const auto machine = machine::discover();
  if (!machine)
    return fmt::format("{}: not used: {}; going on with the built-in choice", path, machine.error().context);
  auto file = load_tuning(path, machine::fingerprint(*machine));
  if (!file) return fmt::format("{}; going on with the built-in choice", file.error().context);
  handle.tuning = std::move(*file);
  handle.tuning_path = path;
  return {};
}

std::uint64_t signature(const OptionsHandle& handle) {
  Options common = handle.options;
  common.tuning_file.clear();
  common.explain = false;
  common.backing = Backing::automatic;
  common.sbgp.clear();  // Aliases and blanks make no difference, so only the levels count.
  common.bcol.clear();
  std::string text = dump<Options>(kOptions, common, {.hidden = true});
  for (const auto& level : handle.levels)
    text += fmt::format("{}:{} ", topo::to_string(level.sbgp), topo::to_string(level.bcol));
  return fnv1a(text);
}

}  // namespace

Result<std::unique_ptr<OptionsHandle>> read_options(std::string& remark) {
  auto options = load<Options>(kOptions, environment());
  if (!options) return tl::unexpected(options.error());
  auto levels = topo::parse_levels(options->sbgp, options->bcol);
  if (!levels) return tl::unexpected(levels.error());
  if (auto checked = check_forced(*options); !checked) return tl::unexpected(checked.error());
  auto handle = std::make_unique<OptionsHandle>();
  handle->options = std::move(*options);
  handle->levels = std::move(*levels);
  handle->share = machine::own_cpu_share();
  remark = topo::remark_on_levels(handle->options.sbgp, handle->options.bcol);
  if (const auto of_file = read_tuning(*handle); !of_file.empty()) remark += (remark.empty() ? "" : "; ") + of_file;
  digest(*handle);
  return handle;
}

void digest(OptionsHandle& handle) { handle.digests = {signature(handle), digest(handle.tuning)}; }

}  // namespace sumac::team

using sumac::team::as_handle;

int sumac_team_options_read(sumac_team_options_t** options_p, char* why, size_t why_bytes) {
  std::string remark;
  auto read = sumac::team::read_options(remark);
  sumac::copy_text(read ? remark : read.error().context, why, why_bytes);
  if (!read) return SUMAC_TEAM_INVALID;
  *options_p = reinterpret_cast<sumac_team_options_t*>(read->release());
  return SUMAC_TEAM_OK;
}

void sumac_team_options_free(sumac_team_options_t* options) { delete as_handle(options); }

uint64_t sumac_team_options_signature(const sumac_team_options_t* options) {
  return as_handle(options)->digests.options;
}

const char* sumac_team_variable(size_t index) {
  using sumac::team::kOptions;
  // The names are literals, so they end in 0.
  return index < std::size(kOptions) ? kOptions[index].name.data() : nullptr;
}

void sumac_team_options_check(void (*say)(const char* sentence)) {
  std::vector<std::string> known;
  sumac::append_names<sumac::team::Options>(sumac::team::kOptions, known);
  // Not every job loads the client, so the team also names what belongs to no program, and what nearly is one of these.
  for (const auto names : {sumac::team_variables(), sumac::client_variables()})
    known.insert(known.end(), names.begin(), names.end());
  constexpr std::string_view kPrefixes[] = {"SUMAC_SHM_", "SUMAC_TEAM_", "SUMAC_"};
  for (const auto& unknown : sumac::unknown_variables(known, kPrefixes)) {
    if (unknown.name.starts_with("HCOLL_")) continue;
    say(sumac::to_string(unknown).c_str());
  }
}

int sumac_team_options_disables(const sumac_team_options_t* options, int coll) {
  return as_handle(options)->options.disabled[static_cast<std::size_t>(coll)] ? 1 : 0;
}

int sumac_team_options_leaders(const sumac_team_options_t* options) {
  const auto& levels = as_handle(options)->levels;
  const auto has = [&](sumac::topo::Sbgp sbgp) {
    return std::ranges::any_of(levels, [&](const auto& level) { return level.sbgp == sbgp; });
  };
  if (has(sumac::topo::Sbgp::basesmuma)) return SUMAC_LEADERS_OF_HOSTS;
  return has(sumac::topo::Sbgp::basesmsocket) ? SUMAC_LEADERS_OF_DOMAINS : SUMAC_LEADERS_ALL;
}

int sumac_team_options_reproducible(const sumac_team_options_t* options) {
  return as_handle(options)->options.reproducible ? 1 : 0;
}

int sumac_team_options_explain(const sumac_team_options_t* options) {
  return as_handle(options)->options.explain ? 1 : 0;
}
