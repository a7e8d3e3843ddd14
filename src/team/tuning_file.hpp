#pragma once
// The results of `sumac tune` as a file: JSON for one machine, with a checksum over its content. A file of another
// machine, one that is half-written or one edited by hand is not used: load_tuning() reports that in one line and the
// built-in choice remains. The file is replaced as a whole: written to a temporary file beside it, then renamed.
//
//   {"sumac_tuning": 1,
//    "content": {"machine": "AuthenticAMD ...", "choices": [
//      {"collective": "allreduce", "ranks": 2, "oversubscribed": false, "from_bytes": 0, "algorithm": "flat"}, ...]},
//    "checksum": "9f3c..."}
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace sumac::team {

/// Applies to teams of `ranks` and more on a host (until a larger number has choices of its own), from `from_bytes` on.
struct TunedChoice {
  std::string collective;
  std::uint32_t ranks = 0;
  bool oversubscribed = false;
  std::uint64_t from_bytes = 0;
  std::string algorithm;

  bool operator==(const TunedChoice&) const = default;
};

struct TuningFile {
  std::string machine;  ///< The result of machine::fingerprint().
  std::vector<TunedChoice> choices;

  bool operator==(const TuningFile&) const = default;
};

/// The file has a checksum, the fnv1a() of "content" as nlohmann::json writes it without spaces, as 16 hexadecimal digits.
std::string print_tuning(const TuningFile& file);
/// Errors describe the fault but not the file: load_tuning() adds the path. The names of collectives and algorithms are
/// not checked here.
Result<TuningFile> parse_tuning(std::string_view text);

/// Errc::not_found: there is no such file. Errc::refused: it belongs to another machine. Errc::invalid: it is
/// half-written or was edited.
Result<TuningFile> load_tuning(const std::string& path, std::string_view machine);

/// Creates missing directories; a reader sees the old file or the new one, never a part.
Result<> save_tuning(const std::string& path, const TuningFile& file);

/// Returns SUMAC_TUNING_FILE as given, "" for "none"; if not given, the path in the user's configuration directory (""
/// if there is no home directory).
std::string tuning_path(std::string_view variable);

/// Returns the choices for a team of so many ranks on a host: those of the largest number that is not above `ranks`,
/// for this collective, in the order of from_bytes.
std::vector<TunedChoice> choices_for(const TuningFile& file, std::string_view collective, std::uint32_t ranks,
                                     bool oversubscribed);

/// A digest of the choices, 0 if there are none. Ranks of several hosts compare theirs.
std::uint64_t digest(const TuningFile& file);

}  // namespace sumac::team
