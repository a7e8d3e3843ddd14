#include "rank/type_map.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace sumac::rank {
namespace {

/// No element lies farther from the beginning: an MPI's addresses do not.
constexpr std::ptrdiff_t kFarthest = PTRDIFF_MAX / 16;

}  // namespace

void TypeMap::add_piece(std::ptrdiff_t at, std::size_t more) {
  if (!pieces.empty() && pieces.back().at + static_cast<std::ptrdiff_t>(pieces.back().bytes) == at)
    pieces.back().bytes += more;
  else
    pieces.push_back({at, more});
}

/// Adds so many elements, one extent after the other.
bool TypeMap::add(const TypeMap& old, std::ptrdiff_t count, std::ptrdiff_t at) {
  if (count < 0) return false;
  if (count == 0) return true;
  // The sums below have a few of these each.
  const auto is_near = [](std::ptrdiff_t one) { return one <= kFarthest && one >= -kFarthest; };
  const auto many = static_cast<std::size_t>(count);
  std::ptrdiff_t span = 0;
  std::size_t more = 0;
  if (__builtin_mul_overflow(old.extent, count - 1, &span) || !is_near(span) || !is_near(at) || !is_near(old.low) ||
      !is_near(old.extent) || __builtin_mul_overflow(many, old.bytes, &more) || more > std::size_t{kFarthest} - bytes)
    return false;
  if (!old.has_gaps())
    add_piece(at, more);
  else
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      for (const auto& piece : old.pieces) add_piece(at + i * old.extent + piece.at, piece.bytes);
      if (pieces.size() > kPiecesMost) return false;
    }
  const std::ptrdiff_t own_low = low, own_high = low + extent;
  const std::ptrdiff_t last = at + span;
  std::ptrdiff_t lower = std::min(at, last) + old.low, upper = std::max(at, last) + old.low + old.extent;
  // A bound that the program has set counts before those that follow from elements.
  if (old.has_low != has_low)
    lower = has_low ? own_low : lower;
  else if (bytes > 0)
    lower = std::min(lower, own_low);
  if (old.has_high != has_high)
    upper = has_high ? own_high : upper;
  else if (bytes > 0)
    upper = std::max(upper, own_high);
  has_low = has_low || old.has_low;
  has_high = has_high || old.has_high;
  align = std::max(align, old.align);
  if (!has_high) {
    const std::ptrdiff_t over = (upper - lower) % align;
    if (over != 0) upper += align - over;
  }
  low = lower;
  extent = upper - lower;
  bytes += more;
  return pieces.size() <= kPiecesMost;
}

void TypeMap::resize(std::ptrdiff_t lower, std::ptrdiff_t all) noexcept {
  low = lower;
  extent = all;
  has_low = has_high = true;
}

void TypeMap::pack(const void* from, std::size_t count, std::byte* packed) const noexcept {
  const auto* at = static_cast<const std::byte*>(from);
  for (; count > 0; --count, at += extent)
    for (const auto& piece : pieces) {
      std::memcpy(packed, at + piece.at, piece.bytes);
      packed += piece.bytes;
    }
}

void TypeMap::unpack(const std::byte* packed, std::size_t count, void* to) const noexcept {
  auto* at = static_cast<std::byte*>(to);
  for (; count > 0; --count, at += extent)
    for (const auto& piece : pieces) {
      std::memcpy(at + piece.at, packed, piece.bytes);
      packed += piece.bytes;
    }
}

}  // namespace sumac::rank
