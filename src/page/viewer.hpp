#pragma once
// The reader of a status or of the page, who sees other users' jobs only in the totals.
#include <cstdint>
#include <optional>

namespace sumac::page {

struct Viewer {
  bool everything = true;
  std::optional<std::uint32_t> uid{};

  bool sees(std::uint32_t owner) const noexcept { return everything || uid == owner; }
  bool operator==(const Viewer&) const = default;
  auto operator<=>(const Viewer&) const = default;
};

}  // namespace sumac::page
