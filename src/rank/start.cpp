#include "rank/start.h"

#include <fmt/format.h>

#include <map>

#include "base/fnv.hpp"
#include "machine/discover.hpp"
#include "rank/say.h"

namespace {

void warn(const char* sentence) { SUMAC_SAY("warning: %s", sentence); }

}  // namespace

bool sumac_process_read(sumac_process* process, bool speaks, bool is_first) {
  const auto refuse = [&](const char* why) {
    if (speaks) SUMAC_SAY("%s", why);
    return false;
  };
  if (const char* wrong = hcoll_settings_read(&process->settings); wrong != nullptr) return refuse(wrong);
  if (process->settings.enable == 0) return true;
  char why[512] = "";
  if (sumac_team_options_read(&process->options, why, sizeof why) != SUMAC_TEAM_OK) return refuse(why);
  if (!is_first || !sumac_say_warns()) return true;
  if (why[0] != '\0') warn(why);
  hcoll_settings_check(warn, sumac_team_variable);
  sumac_team_options_check(warn);
  return true;
}

void sumac_process_free(sumac_process* process) {
  sumac_team_options_free(process->options);
  process->options = nullptr;
}

const sumac_process* sumac_process_own() {
  static const sumac_process* const read = []() -> const sumac_process* {
    const bool is_asked_for = hcoll_is_asked_for() != 0;
    sumac_say_warnings(is_asked_for);
    auto* made = new sumac_process{};
    return sumac_process_read(made, true, is_asked_for) ? made : nullptr;
  }();
  return read;
}

std::uint64_t sumac_process_signature(const sumac_process* process) {
  if (process->options == nullptr) return 0;
  const hcoll_settings& settings = process->settings;
  return sumac_hash(fmt::format("{} {} {} {} {} {} {} {} {}", settings.level, settings.hosts_min,
                                settings.allreduce_bytes_max, settings.team_after,
                                sumac_team_options_signature(process->options), settings.profile,
                                settings.trace != nullptr, settings.timeout_ms, settings.own_network)
                        .c_str());
}

std::uint64_t sumac_hash(const char* text) { return sumac::fnv1a(text == nullptr ? "" : text); }

void sumac_process_place(int local_rank, bool speaks, sumac_place_t* place) {
  *place = {-1, -1, -1, -1};
  const auto machine = sumac::machine::discover(sumac::machine::Reader::automatic, sumac::machine::own_affinity());
  if (machine) {
    const auto own = sumac::machine::own_place(*machine, 0, static_cast<std::uint32_t>(local_rank));
    *place = {-1, own.socket, own.numa, own.core};
  } else if (speaks && sumac_say_warns() && sumac::machine::environment_describes_a_machine()) {
    // A machine that cannot be read is no fault of the job, but a wrong description by the user is one.
    SUMAC_SAY("warning: %s; going on as if all ranks of this host were close to each other",
              machine.error().context.c_str());
  }
}

int sumac_number_hosts(const std::uint64_t* hosts, int size, sumac_place_t* places) {
  std::map<std::uint64_t, int> numbers;
  for (int rank = 0; rank < size; ++rank) {
    const int number = numbers.try_emplace(hosts[rank], static_cast<int>(numbers.size())).first->second;
    if (places != nullptr) places[rank].host = number;
  }
  return static_cast<int>(numbers.size());
}
