#pragma once
#include <cstdint>
#include <random>

namespace sumac::control {

/// Draws the number that a daemon keeps while it lives, which differs from that of earlier processes and is not 0. It
/// is sent to the manager only, because any process that knows that of a sharpd could act for its jobs.
inline std::uint64_t draw_life() {
  std::random_device device;
  const auto life = std::uint64_t{device()} << 32 | device();
  return life == 0 ? 1 : life;
}

}  // namespace sumac::control
