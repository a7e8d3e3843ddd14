#pragma once
// For a lambda of a machine that treats several states alike: names them one by one, so that the compiler still lists
// the pair of state and event that a new state forgot.
#include <concepts>

namespace sumac::proto {

template <class T, class... States>
concept OneOf = (std::same_as<T, States> || ...);

}  // namespace sumac::proto
