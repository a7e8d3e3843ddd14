#pragma once
// A finding: the judgement of one check, with the remedy.
#include <string>
#include <string_view>
#include <vector>

namespace sumac::tools::doctor {

enum class Health {
  well,
  note,  ///< It works, but slower or with less.
  bad    ///< Something that users expect does not work.
};

struct Finding {
  std::string subject;  ///< "/dev/shm"
  Health health = Health::well;
  std::string found;   ///< "64 MiB free"
  std::string remedy;  ///< The remedy; empty if none is needed.
};
using Findings = std::vector<Finding>;

constexpr std::string_view word(Health health) {
  switch (health) {
    case Health::well: return "ok";
    case Health::note: return "note";
    case Health::bad: return "BAD";
  }
  return "?";
}

/// True if a shell takes the text as it is, as one word that is no option.
bool is_plain(std::string_view text);
/// For commands in a remedy, which a person pastes: the text if all its words are plain, else `stand_in`. Names and
/// addresses come from files, other users and other hosts.
std::string in_command(std::string_view text, std::string_view stand_in);

}  // namespace sumac::tools::doctor
