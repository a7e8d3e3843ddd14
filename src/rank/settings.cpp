// Reads the variables once, when a front end starts. It publishes them: all ranks must have the same.
#include "rank/settings.h"

#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/options.hpp"
#include "base/published_defaults.hpp"

extern char** environ;

namespace {

template <auto Member>
bool read_number(const hcoll_variable& variable, const char* text, hcoll_settings& settings) {
  const auto number = sumac::detail::parse_signed(text, variable.low, variable.high);
  if (number) settings.*Member = static_cast<int>(*number);
  return number.has_value();
}

/// Reads a number; "auto" is -1.
template <auto Member>
bool read_choice(const hcoll_variable& variable, const char* text, hcoll_settings& settings) {
  if (std::string_view(text) != "auto") return read_number<Member>(variable, text, settings);
  settings.*Member = -1;
  return true;
}

/// Reads bytes with an optional K, M or G; "inf"; "auto", which is -1.
template <auto Member>
bool read_bytes(const hcoll_variable&, const char* text, hcoll_settings& settings) {
  std::string_view digits = text;
  if (digits == "inf" || digits == "auto") {
    settings.*Member = digits == "inf" ? INT64_MAX : -1;
    return true;
  }
  constexpr std::string_view kUnits = "kKmMgG";
  const std::size_t unit = digits.empty() ? kUnits.npos : kUnits.find(digits.back());
  const std::size_t shift = unit == kUnits.npos ? 0 : 10 * (unit / 2 + 1);
  if (shift > 0) digits.remove_suffix(1);
  const auto number = sumac::detail::parse_signed(digits, 0, INT64_MAX >> shift);
  if (number) settings.*Member = *number << shift;
  return number.has_value();
}

template <auto Member>
bool read_duration(const hcoll_variable&, const char* text, hcoll_settings& settings) {
  const auto duration = sumac::detail::parse_duration(text, 1'000'000);
  settings.*Member = duration.value_or(0);
  return duration.has_value();
}

template <auto Member>
bool read_text(const hcoll_variable&, const char* text, hcoll_settings& settings) {
  settings.*Member = text[0] == '\0' ? nullptr : text;
  return true;
}

template <auto Member>
bool read_carrier(const hcoll_variable&, const char* text, hcoll_settings& settings) {
  const std::string_view carrier = text;
  settings.*Member = carrier == "p2p";
  return carrier == "p2p" || carrier == "mpi";
}

/// sumac::published_default() reads the value, so no setting keeps it.
bool read_defaults(const hcoll_variable&, const char* text, hcoll_settings&) {
  return sumac::detail::parse_value<sumac::Defaults>(text).has_value();
}

/// An empty value counts as unset, because users clear a variable by `VARIABLE= program`.
const char* look_up(const char* name) {
  const char* text = name == nullptr ? nullptr : std::getenv(name);
  return text == nullptr || text[0] == '\0' ? nullptr : text;
}

}  // namespace

// The first one is SUMAC_ENABLE, because the others are not read if it is 0.
const hcoll_variable hcoll_variables[] = {
    {"SUMAC_ENABLE", nullptr, "1", "0 or 1", "0: every binding is as if it were absent.",
     read_number<&hcoll_settings::enable>, 0, 1},
    {sumac::kDefaultsVariable.data(), nullptr, "sumac", "sumac or 2018",
     "2018: HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX is 256 by default, as published texts have it.", read_defaults},
    {"HCOLL_ENABLE_SHARP", nullptr, "0", "a whole number from 0 to 4",
     "0: no tree, shared memory inside hosts alone. 1: use the tree if it is there. 2: the job must be there, a "
     "communicator without a group goes on without. 3: every communicator, or end the job. 4: as 3, and every "
     "collective that the tree can do, whatever its size.",
     read_number<&hcoll_settings::level>, HCOLL_OFF, HCOLL_FORCE_ALL},
    {"HCOLL_SHARP_NP", nullptr, "2", "a whole number from 1 to 1000000",
     "Fewest hosts of a communicator that uses the tree.", read_number<&hcoll_settings::hosts_min>, 1, 1000000},
    {"HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX", "HCOLL_ALLREDUCE_SHARP_MAX", "auto",
     "bytes such as 2048, 64K or inf, or auto",
     "Largest allreduce that is sent to the tree. auto: what a group has in flight at once (OSTs x payload), without "
     "limit where streaming is on; but no more than what the tree carries faster than the hosts do by themselves, by "
     "the rates of the fabric's links and where its nodes are (SUMAC_EXPLAIN=1 shows the numbers). "
     "HCOLL_ENABLE_SHARP=4 ignores it.",
     read_bytes<&hcoll_settings::allreduce_bytes_max>},
    {"HCOLL_SHARP_UPROGRESS_NUM_POLLS", nullptr, "999", "a whole number from 1 to 1000000000",
     "A rank that waits for the tree gives Open MPI a turn after so many looks (and every millisecond in any case).",
     read_number<&hcoll_settings::polls>, 1, 1000000000},
    {"HCOLL_MAIN_IB", nullptr, "", "text",
     "Ports by which leaders join their trees, mlx5_0:1,mlx5_1:1: see SHARP_COLL_IB_DEV_LIST, which goes before.",
     read_text<&hcoll_settings::devices>},
    {"SUMAC_LAST_LINE", nullptr, "auto", "0, 1 or auto",
     "1: at MPI_Finalize rank 0 prints one line that counts the collective calls by way. 0: it prints none. auto: "
     "under `sumac run`, with the interposed library, and where rank 0 has a variable that begins with SUMAC_, HCOLL_ "
     "or OMPI_MCA_coll_hcoll_. Without any of these the component prints no warnings either, and makes "
     "MPI_COMM_WORLD's team at its first blocking collective instead of in MPI_Init.",
     read_choice<&hcoll_settings::last_line>, 0, 1},
    {"SUMAC_PROGRESS_THREAD", nullptr, "0", "0 or 1",
     "1: a thread moves nonblocking collectives while the program is busy elsewhere, inside a host, through the "
     "tree and with SUMAC_ACROSS=p2p. Else an operation for which MPI carries the data between hosts moves inside MPI "
     "calls only, and those behind it "
     "on its communicator wait for it; with the interposed library such an operation is the MPI's own. The thread "
     "sleeps while there is nothing to move.",
     read_number<&hcoll_settings::progress_thread>, 0, 1},
    {"SUMAC_TEAM_AFTER", nullptr, "auto", "a whole number from 0 to 1000000000, or auto",
     "The collectives of a communicator that the MPI does before Sumac makes its team. auto: as many as gain what the "
     "making costs, 600 on one host, and over hosts the fewer the more hosts there are: 12 up to 4 hosts, 6 on 8, 4 on "
     "16. 0: the first one makes it, as it always does for MPI_COMM_WORLD, a communicator on one host with a tree, a "
     "persistent collective, and with HCOLL_ENABLE_SHARP=3 or 4.",
     read_choice<&hcoll_settings::team_after>, 0, 1000000000},
    {"SUMAC_TIMEOUT", nullptr, "0", "0 or a duration such as 500ms or 30s (bare: ms)",
     "A collective that waits for longer fails at every rank with MPI_ERR_OTHER, whose text names the ranks that have "
     "not "
     "begun it, and the communicator's team is broken. 0: there is no limit.",
     read_duration<&hcoll_settings::timeout_ms>},
    {"SUMAC_ACROSS", nullptr, "mpi", "mpi or p2p",
     "What carries data between hosts where the tree does not. mpi: the MPI's collectives among the leaders. p2p: "
     "connections of Sumac's own (TCP, or SUMAC_TRANSPORT=ucx; SUMAC_NET_DEVICE names the device) and the algorithms "
     "that Python's teams use; "
     "SUMAC_PROGRESS_THREAD=1 then moves these as well while the program is busy elsewhere.",
     read_carrier<&hcoll_settings::own_network>},
    {"SUMAC_PROFILE", nullptr, "0", "0, 1 or 2",
     "1: at MPI_Finalize rank 0 prints a table of the job's collective calls, with bytes, time and the slowest rank "
     "(docs/profile.md). 2: every row of it, with exact bytes.",
     read_number<&hcoll_settings::profile>, 0, 2},
    {"SUMAC_TRACE", nullptr, "", "text",
     "A folder. At MPI_Finalize each rank writes its collective calls there, as a file that Perfetto opens "
     "(docs/profile.md).",
     read_text<&hcoll_settings::trace>},
};
const std::size_t hcoll_variable_count = std::size(hcoll_variables);

const hcoll_parameter hcoll_parameters[HCOLL_PARAMETERS] = {
    {"enable", 1, 2, "Enable (1) or disable (0) the component"},
    {"np", 2, 2, "Communicators of fewer ranks than this are left alone"},
    {"priority", 90, 9, "Priority among the coll components"},
};

int hcoll_is_asked_for(void) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    for (const char* prefix : {"SUMAC_", "HCOLL_", "OMPI_MCA_coll_hcoll_"})
      if (std::string_view(*entry).starts_with(prefix)) return 1;
  return 0;
}

const char* hcoll_settings_read(hcoll_settings* settings) {
  static std::string complaint;
  for (const auto& variable : hcoll_variables) {
    const char *name = variable.name, *text = look_up(name);
    if (text == nullptr && (text = look_up(variable.alias)) != nullptr) name = variable.alias;
    const auto published = text == nullptr ? sumac::published_default(name) : std::nullopt;
    if (published) text = published->c_str();
    if (text == nullptr) text = variable.default_text;
    if (!variable.read(variable, text, *settings)) {
      complaint = fmt::format("{}={}: expected {}", name, text, variable.legal);
      return complaint.c_str();
    }
    if (settings->enable == 0) break;
  }
  return nullptr;
}

void hcoll_settings_check(void (*say)(const char* sentence), const char* (*others)(std::size_t index)) {
  std::vector<std::string> known, names = sumac::our_environment_names();
  for (const auto& variable : hcoll_variables)
    for (const char* name : {variable.name, variable.alias})
      if (name != nullptr) known.emplace_back(name);
  const char* name = nullptr;
  for (std::size_t i = 0; others != nullptr && (name = others(i)) != nullptr; ++i) known.emplace_back(name);
  // A known name that ends in "_" stands for every name with that prefix.
  std::erase_if(names, [&](const std::string& each) {
    return !each.starts_with("HCOLL_") || std::any_of(known.begin(), known.end(), [&](const std::string& prefix) {
      return prefix.ends_with('_') && each.size() > prefix.size() && each.starts_with(prefix);
    });
  });
  std::erase_if(known, [](const std::string& each) { return each.ends_with('_'); });
  for (const auto& unknown : sumac::unknown_names(names, known)) say(sumac::to_string(unknown).c_str());
}
