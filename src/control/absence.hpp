#pragma once
// Which reasons of an absence of the manager belong into a daemon's log: a daemon tries again twice a second.
#include <set>
#include <string>

namespace sumac::control {

/// Returns true if this absence of the manager has a reason that `told` does not have yet. Reasons may alternate, so
/// all are kept, up to a bound.
inline bool is_news(std::set<std::string>& told, const std::string& reason) {
  return told.size() < 16 && told.insert(reason).second;
}

}  // namespace sumac::control
