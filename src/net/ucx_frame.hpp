#pragma once
// The header of the ucx backend's active messages. UCX keeps message boundaries, but it neither identifies our
// connection nor keeps large and small messages in order; these 24 bytes do.
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace sumac::net {

inline constexpr std::uint16_t kUcxMagic = 0x5553;  // This reads "SU" in memory.
inline constexpr std::uint8_t kUcxVersion = 1;
inline constexpr unsigned kUcxAmId = 17;

enum class UcxKind : std::uint8_t {
  hello = 1,    ///< From the connector; the data is a UcxGreeting and the connector's worker address.
  welcome = 2,  ///< The acceptor's answer; the data is a UcxGreeting.
  data = 3,     ///< A message: its head follows this header, and its body is the data.
  ping = 5,     ///< The sender is alive. It has no sequence number.
  pong = 6,     ///< The receiver of a ping has seen it. It has no sequence number.
  gone = 7,     ///< The sender has ended the connection, and messages may be missing. It has no sequence number.
  bye = 4,      ///< The sender has closed; all its messages came before. The answer is bye as well: all have arrived.
};

struct UcxHeader {
  std::uint16_t magic = kUcxMagic;
  std::uint8_t version = kUcxVersion;
  UcxKind kind = UcxKind::data;
  std::uint32_t to = 0;  ///< The receiver's ConnId; 0 in a hello.
  /// The key that the receiver assigned to the sender; it exposes a stray or late message. 0 in a hello.
  std::uint64_t key = 0;
  std::uint32_t from = 0;  ///< The sender's ConnId.
  /// Numbers data and bye on this connection from 0, because a small message may overtake a large one.
  std::uint32_t sequence = 0;
};
static_assert(sizeof(UcxHeader) == 24 && std::has_unique_object_representations_v<UcxHeader>);

struct UcxGreeting {
  std::uint64_t key = 0;  ///< The key for messages to the sender of this greeting.
  std::uint32_t message_max = 0;
  std::uint32_t reserved = 0;
  std::array<char, 64> name{};  ///< The sender's "host:pid", for people.
};
static_assert(sizeof(UcxGreeting) == 80 && std::has_unique_object_representations_v<UcxGreeting>);

}  // namespace sumac::net
