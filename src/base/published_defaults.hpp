#pragma once
// SUMAC_DEFAULTS=2018: the defaults that the published texts of 2018 and 2019 show, where ours are others, so that the
// numbers of a pasted command line are those of the text.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/option_values.hpp"

namespace sumac {

inline constexpr std::string_view kDefaultsVariable = "SUMAC_DEFAULTS";

enum class Defaults : std::uint8_t { ours, of_2018 };
constexpr auto enum_names(Defaults) {
  return std::array{EnumName<Defaults>{"sumac", Defaults::ours}, EnumName<Defaults>{"2018", Defaults::of_2018}};
}

/// Returns the published default of a variable, if the environment asks for those and the text has another than ours.
std::optional<std::string> published_default(std::string_view name);

}  // namespace sumac
