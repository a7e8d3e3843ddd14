#pragma once
// What `sumac tune` measured, as a file: JSON of one machine, with a checksum over its content. A file of another
// machine, half-written or edited by hand is not used: load() says so in one line and the built-in choice stands. It is
// written whole: beside its place, then renamed.
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

/// For teams of `ranks` and more on a host (until a larger number has choices of its own), from `from_bytes` on.
struct TunedChoice {
  std::string collective;
  std::uint32_t ranks = 0;
  bool oversubscribed = false;
  std::uint64_t from_bytes = 0;
  std::string algorithm;

  bool operator==(const TunedChoice&) const = default;
};

struct TuningFile {
  std::string machine;  ///< machine::fingerprint().
  std::vector<TunedChoice> choices;

  bool operator==(const TuningFile&) const = default;
};

std::string print_tuning(const TuningFile& file);
/// Of "content" as nlohmann::json writes it without spaces; in the file with 16 hexadecimal digits.
std::uint64_t tuning_checksum(std::string_view text);
/// Errors name what is wrong, not where: load_tuning() puts the path in front. Names of collectives and algorithms are
/// not looked at here.
Result<TuningFile> parse_tuning(std::string_view text);

/// Errc::not_found: there is no such file. Errc::refused: it is another machine's. Errc::invalid: half-written or
/// edited.
Result<TuningFile> load_tuning(const std::string& path, std::string_view machine);

/// Makes the folders that are missing; a reader sees the old file or the new one, never a part.
Result<> save_tuning(const std::string& path, const TuningFile& file);

/// SUMAC_TUNING_FILE as given, "" for "none"; not given: where a user's configuration lies ("" if there is no home).
std::string tuning_path(std::string_view variable);

/// The choices that hold for a team of so many ranks on a host: those of the largest number that is not above `ranks`,
/// by collective; in the order of from_bytes.
std::vector<TunedChoice> choices_for(const TuningFile& file, std::string_view collective, std::uint32_t ranks,
                                     bool oversubscribed);

/// A number for "the same choices": 0 for none. Ranks of several hosts compare theirs.
std::uint64_t digest(const TuningFile& file);

}  // namespace sumac::team
