#include "topo/levels.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"

namespace sumac::topo {
namespace {

template <class Enum>
struct Word {
  std::string_view name;
  Enum value;
  std::string_view missing = {};  ///< Set for a word that `value` only stands in for: the thing that Sumac lacks.
};
constexpr std::string_view kQueues = "Sumac does not use an adapter's queues for collectives";
constexpr Word<Sbgp> kSbgpWords[] = {{"basesmsocket", Sbgp::basesmsocket},
                                     {"basesmssocket", Sbgp::basesmsocket},
                                     {"basesmuma", Sbgp::basesmuma},
                                     {"p2p", Sbgp::p2p},
                                     {"ibnet", Sbgp::p2p, kQueues}};
constexpr Word<Bcol> kBcolWords[] = {{"basesmuma", Bcol::basesmuma},
                                     {"ucx_p2p", Bcol::ucx_p2p},
                                     {"mlx_p2p", Bcol::ucx_p2p},
                                     {"cc", Bcol::ucx_p2p, kQueues},
                                     {"ibnet", Bcol::ucx_p2p, kQueues}};
constexpr std::string_view kSbgpLegal =
    "basesmsocket (or basesmssocket), basesmuma, p2p, each at most once, in this order";
constexpr std::string_view kBcolLegal = "basesmuma, ucx_p2p (or mlx_p2p)";

template <class Enum, std::size_t N>
Result<std::vector<Enum>> parse_words(std::string_view variable, std::string_view text, const Word<Enum> (&words)[N],
                                      std::string_view legal) {
  std::vector<Enum> found;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    const auto word = trimmed(rest.substr(0, comma));
    std::optional<Enum> value;
    for (const auto& known : words)
      if (known.name == word) value = known.value;
    if (!value) {
      if (word.empty()) return fail(Errc::invalid, "{}={}: an empty word: expected {}", variable, text, legal);
      return fail(Errc::invalid, "{}={}: unknown word \"{}\": expected {}", variable, text, word, legal);
    }
    found.push_back(*value);
    if (comma == std::string_view::npos) return found;
    rest.remove_prefix(comma + 1);
  }
}

/// Returns a sentence for each word of a legal text that another one stands in for.
template <class Enum, std::size_t N>
std::string stand_ins(std::string_view variable, std::string_view text, const Word<Enum> (&words)[N]) {
  std::string sentences;
  for (std::string_view rest = text; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const auto word = trimmed(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    for (const auto& known : words) {
      if (known.name != word || known.missing.empty()) continue;
      if (!sentences.empty()) sentences += "; ";
      sentences += fmt::format("{}={}: \"{}\" stands in for \"{}\": {}", variable, text, to_string(known.value),
                               known.name, known.missing);
    }
  }
  return sentences;
}

/// Returns the only primitive that can do a level: the network is not for ranks of one host, nor memory for several
/// hosts.
Bcol own_primitive(Sbgp sbgp) { return sbgp == Sbgp::p2p ? Bcol::ucx_p2p : Bcol::basesmuma; }

}  // namespace

Result<std::vector<Level>> parse_levels(std::string_view sbgp, std::string_view bcol) {
  sbgp = trimmed(sbgp);
  bcol = trimmed(bcol);
  if (sbgp.empty()) sbgp = kSbgpDefault;
  const auto groups = parse_words("HCOLL_SBGP", sbgp, kSbgpWords, kSbgpLegal);
  if (!groups) return tl::unexpected(groups.error());
  for (std::size_t i = 1; i < groups->size(); ++i) {
    const auto before = (*groups)[i - 1], here = (*groups)[i];
    if (here == before)
      return fail(Errc::invalid, "HCOLL_SBGP={}: \"{}\" is there twice: expected {}", sbgp, to_string(here),
                  kSbgpLegal);
    if (here < before)
      return fail(Errc::invalid, "HCOLL_SBGP={}: \"{}\" must not follow \"{}\": expected {}", sbgp, to_string(here),
                  to_string(before), kSbgpLegal);
  }
  std::vector<Level> levels;
  for (const auto group : *groups) levels.push_back({group, own_primitive(group)});
  if (bcol.empty()) return levels;

  const auto primitives = parse_words("HCOLL_BCOL", bcol, kBcolWords, kBcolLegal);
  if (!primitives) return tl::unexpected(primitives.error());
  if (primitives->size() != levels.size())
    return fail(Errc::invalid,
                "HCOLL_BCOL={}: {} word{}, but HCOLL_SBGP={} has {}: expected one primitive for each level", bcol,
                primitives->size(), primitives->size() == 1 ? "" : "s", sbgp, levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto wanted = own_primitive(levels[i].sbgp);
    if ((*primitives)[i] != wanted)
      return fail(Errc::invalid, "HCOLL_BCOL={}: \"{}\" cannot serve level \"{}\" of HCOLL_SBGP: expected \"{}\" there",
                  bcol, to_string((*primitives)[i]), to_string(levels[i].sbgp), to_string(wanted));
  }
  return levels;
}

std::string remark_on_levels(std::string_view sbgp, std::string_view bcol) {
  const auto levels = stand_ins("HCOLL_SBGP", trimmed(sbgp), kSbgpWords);
  const auto primitives = stand_ins("HCOLL_BCOL", trimmed(bcol), kBcolWords);
  return levels + (levels.empty() || primitives.empty() ? "" : "; ") + primitives;
}

std::string_view to_string(Sbgp sbgp) noexcept {
  switch (sbgp) {
    case Sbgp::basesmsocket: return "basesmsocket";
    case Sbgp::basesmuma: return "basesmuma";
    case Sbgp::p2p: return "p2p";
  }
  return "?";
}

std::string_view to_string(Bcol bcol) noexcept {
  switch (bcol) {
    case Bcol::basesmuma: return "basesmuma";
    case Bcol::ucx_p2p: return "ucx_p2p";
  }
  return "?";
}

}  // namespace sumac::topo
