// Reads any bytes as a tuning file, and any JSON as the content of a file whose checksum is right: accepted content
// must survive being written and read again.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/fnv.hpp"
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "team/tuning_file.hpp"

namespace {

using namespace sumac;
using fuzz::must;

void read(std::string_view text) {
  const auto file = team::parse_tuning(text);
  if (!file) return must(!file.error().context.empty(), "a refusal has a reason");
  const auto again = team::parse_tuning(team::print_tuning(*file));
  must(again && *again == *file, "what was read can be written");
  must(team::digest(*again) == team::digest(*file), "and is the same choices");
  for (const auto& choice : file->choices)
    for (const auto& found : team::choices_for(*file, choice.collective, choice.ranks, choice.oversubscribed))
      must(found.ranks <= choice.ranks, "choices of fewer ranks, or of so many");
}

/// Adds the right checksum, which no fuzzer would find.
std::string with_checksum(const nlohmann::json& content) {
  const auto text = content.dump();
  return fmt::format(R"({{"sumac_tuning": 1, "content": {}, "checksum": "{:016x}"}})", text, fnv1a(text));
}

}  // namespace

SUMAC_FUZZ(tuning) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  const auto content = nlohmann::json::parse(text, nullptr, false);
  if (!content.is_discarded()) read(with_checksum(content));
  return 0;
}
