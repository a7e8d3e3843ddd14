#pragma once
// Serves a lambda that treats several states alike: it names them one by one, so that the compiler still reports the
// pair of state and event that a new state forgot.
#include <concepts>

namespace sumac {

template <class T, class... States>
concept OneOf = (std::same_as<T, States> || ...);

}  // namespace sumac
