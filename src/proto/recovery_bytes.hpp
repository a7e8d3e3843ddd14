#pragma once
// recovery_codec and recovery_return write and read the messages between members with these: little-endian, without gaps, behind one
// head.
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "proto/recovery_codec.hpp"

namespace sumac::proto::recovery {

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& to) : to_(to) { to_.clear(); }
  template <std::unsigned_integral T>
  void put(T value) {
    for (std::size_t i = 0; i < sizeof value; ++i) to_.push_back(static_cast<std::byte>(value >> 8 * i));
  }
  void put(const Mask& mask) {
    const Mask low(~std::uint64_t{0});
    for (std::size_t at = 0; at < kSpanMax; at += 64) put(std::uint64_t{((mask >> at) & low).to_ullong()});
  }
  void put(const std::optional<Verdict>& verdict) {
    put(static_cast<std::uint8_t>(verdict.has_value()));
    if (verdict) put(*verdict);
  }
  void put(const Verdict& verdict) {
    put(verdict.first);
    put(verdict.also);
    put(verdict.culprit);
    put(static_cast<std::uint8_t>(verdict.why));
  }

 private:
  std::vector<std::byte>& to_;
};

/// Reads zeros behind the end, and remembers that.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> from) : left_(from) {}
  template <std::unsigned_integral T>
  T get() {
    T value = 0;
    const auto bytes = take(sizeof value);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(bytes[i]) << 8 * i));
    return value;
  }
  Mask mask() {
    Mask mask;
    for (std::size_t at = 0; at < kSpanMax; at += 64) mask |= Mask(get<std::uint64_t>()) << at;
    return mask;
  }
  std::span<const std::byte> take(std::size_t count) {
    is_whole_ = is_whole_ && count <= left_.size();
    const auto taken = left_.first(is_whole_ ? count : 0);
    left_ = left_.subspan(taken.size());
    return taken;
  }
  std::span<const std::byte> rest() { return take(left_.size()); }
  bool is_done() const noexcept { return is_whole_ && left_.empty(); }
  std::size_t left() const noexcept { return left_.size(); }
  bool is_whole() const noexcept { return is_whole_; }

 private:
  std::span<const std::byte> left_;
  bool is_whole_ = true;
};

/// The kinds of recovery_return; those of recovery_codec are the places in Message::body, from 1.
inline constexpr std::uint8_t kProposalKind = 12, kReadinessKind = 13;
static_assert(std::variant_size_v<decltype(Message::body)> < kProposalKind);

struct Head {
  std::uint8_t kind = 0;
  GroupKey group{};
  std::uint32_t word = 0;  ///< An epoch or an attempt.
};

inline void put(Writer& out, const Head& head) {
  out.put(kMagic);
  out.put(kVersion);
  out.put(head.kind);
  out.put(number_of(head.group.group));
  out.put(head.word);
  out.put(number_of(head.group.tree));
}

/// Returns null, or what is wrong.
inline const char* get(Reader& in, Head& head) {
  if (in.get<std::uint16_t>() != kMagic) return "magic is not 0x5253";
  if (in.get<std::uint8_t>() != kVersion) return "another version: install the same version everywhere";
  head.kind = in.get<std::uint8_t>();
  head.group.group = GroupId{in.get<std::uint32_t>()};
  head.word = in.get<std::uint32_t>();
  head.group.tree = TreeId{in.get<std::uint32_t>()};
  return in.is_whole() ? nullptr : "the message is too short or too long";
}

}  // namespace sumac::proto::recovery
