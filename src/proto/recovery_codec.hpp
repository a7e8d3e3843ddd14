#pragma once
// The bytes of the messages between members that have lost their tree: a head of 16 bytes, then the fields of the
// message, little-endian and without gaps. A turn carries the number's header as a tree would get it (AggHeader), so
// that wire's checks hold for it too. Decoding checks every field that can be checked without knowing the group's state.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/recovery.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto::recovery {

inline constexpr std::uint16_t kMagic = 0x5253;  // This reads "SR" in the stream.
inline constexpr std::uint8_t kVersion = 2;
inline constexpr std::size_t kHeadBytes = 16;
/// Numbers count from the group's first one and never come near this.
inline constexpr Number kNumberEnd = Number{1} << 62;

/// A group id is unique in its tree alone. The groups of a process are on several trees when one has been lost.
struct GroupKey {
  TreeId tree{};
  GroupId group{};
  bool operator==(const GroupKey&) const = default;
};

/// This is what a message has beside the machine's words: the user's data of a turn or a result and what they are, or the word of the tree.
struct Data {
  /// contributes, skips: as the member contributes the number to a tree. One that skips sends no payload behind it.
  wire::AggHeader header{};
  std::uint32_t elements =
      0;                    ///< contributes, skips: elements of the fragment, also where the member has none of them.
  std::uint64_t terms = 0;  ///< result: Operation::terms of the number.
  std::span<const std::byte> payload{};
  std::optional<wire::VerdictBody> word;  ///< carries_word(): what the sender knows of the reason why the group ends.
};

/// The members decide without data, and a verdict of theirs names a member alone. What the tree has said, or the member that gives up, goes
/// with the messages that spread a verdict, so that all members tell their users the same.
constexpr bool carries_word(const Message& message) noexcept {
  return std::holds_alternative<Join>(message.body) || std::holds_alternative<Joined>(message.body) ||
         std::holds_alternative<Condemned>(message.body) || std::holds_alternative<Move>(message.body) ||
         std::holds_alternative<GivesUp>(message.body);
}

struct CodecLimits {
  Rank size = 0;                  ///< Members of the group.
  std::uint32_t payload_max = 0;  ///< Bytes of one payload.
};

/// Writes the message without its payload, which follows it.
void encode(GroupKey group, const Message& message, const Data& data, std::vector<std::byte>& to);
/// Returns the group of a message, or nothing for a frame that is none.
std::optional<GroupKey> group_of(std::span<const std::byte> frame) noexcept;
/// Returns null, or a static text on the first field that is wrong. `data.payload` lies in `frame`.
const char* decode(std::span<const std::byte> frame, const CodecLimits& limits, GroupKey& group, Message& message,
                   Data& data);

/// Returns the hash of all that members must agree on in a number.
std::uint64_t terms_of(const wire::AggHeader& header, std::uint32_t elements) noexcept;

}  // namespace sumac::proto::recovery
