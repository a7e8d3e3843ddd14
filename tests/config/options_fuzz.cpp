// Any bytes are tried as a configuration file of each program, and as the values of its variables (SHARP_COLL_*,
// HCOLL_*): they are accepted, or refused in one line; accepted values print as text that is read back as the same
// values.
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "client/options.hpp"
#include "hostd/config.hpp"
#include "manager/config.hpp"
#include "node/config.hpp"
#include "team/options.hpp"
#include "topo/levels.hpp"

namespace {

using namespace sumac;
using fuzz::must;

template <class Config>
void load_all(std::span<const Option<Config>> table, const KeyValues& file) {
  const Source sources[] = {file.source()};
  const auto config = load_from<Config>(table, sources);
  if (!config) return must(!config.error().context.empty(), "a refusal has a reason");
  for (const auto& option : table) {
    const auto text = option.print(*config, option.prints_bare());
    if (text.empty() || text.find_first_of("\n#") != text.npos) continue;
    const auto line = KeyValues::parse(std::string(option.name) + " " + text, "again");
    if (!line) continue;  // a text that a file cannot contain
    const Source again[] = {line->source()};
    const auto second = load_from<Config>(table, again);
    must(second && option.print(*second, option.prints_bare()) == text, "what is printed is read as the same");
  }
}

}  // namespace

SUMAC_FUZZ(options) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto half = text.find('\n');
  const auto levels = topo::parse_levels(text.substr(0, half), half == text.npos ? "" : text.substr(half + 1));
  must(levels ? !levels->empty() : levels.error().context.find('\n') == std::string::npos || half != text.npos,
       "levels, or one line");
  const auto file = KeyValues::parse(text, "fuzz");
  if (!file) {
    must(file.error().context.starts_with("fuzz"), "a refusal begins with the file's name");
    return 0;
  }
  load_all<manager::Config>(manager::kOptions, *file);
  load_all<node::Config>(node::kOptions, *file);
  load_all<hostd::Config>(hostd::kOptions, *file);
  load_all<client::ClientConfig>(client::client_options(), *file);
  load_all<team::Options>(team::kOptions, *file);
  return 0;
}
