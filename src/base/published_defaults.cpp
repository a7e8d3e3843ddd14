#include "base/published_defaults.hpp"

#include "base/options.hpp"

namespace sumac {
namespace {

struct Published {
  std::string_view name, value;
};

constexpr Published kPublished[] = {
    {"SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST", "128"},
    {"SHARP_COLL_SAT_THRESHOLD", "1024"},
    {"HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX", "256"},
};

}  // namespace

std::optional<std::string> published_default(std::string_view name) {
  const auto asked = environment().lookup(kDefaultsVariable);
  if (asked != "2018") return std::nullopt;
  for (const auto& published : kPublished)
    if (published.name == name) return std::string(published.value);
  return std::nullopt;
}

}  // namespace sumac
