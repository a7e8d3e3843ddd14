#pragma once
// What the ucx backend puts in front of a message: the header of its active messages. UCX carries message boundaries, but neither
// says which of our connections a message belongs to nor keeps large and small ones in order; these 24 bytes do.
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace sumac::net {

inline constexpr std::uint16_t kUcxMagic = 0x5553;  // "SU"
inline constexpr std::uint8_t kUcxVersion = 1;
inline constexpr unsigned kUcxAmId = 17;

enum class UcxKind : std::uint8_t {
  hello = 1,    ///< From the connector; the data are UcxGreeting and its worker address.
  welcome = 2,  ///< The acceptor's answer; the data are UcxGreeting.
  data = 3,     ///< A message: its head behind this header, its body as the data.
  ping = 5,     ///< The sender lives. No sequence.
  pong = 6,     ///< Its receiver has seen it. No sequence.
  bye = 4,      ///< The sender has closed; all its messages came before. Answered by bye: all have arrived.
};

struct UcxHeader {
  std::uint16_t magic = kUcxMagic;
  std::uint8_t version = kUcxVersion;
  UcxKind kind = UcxKind::data;
  std::uint32_t to = 0;    ///< Receiver's ConnId; hello: 0.
  std::uint64_t key = 0;   ///< What the receiver gave the sender: turns away a stray or late message. Hello: 0.
  std::uint32_t from = 0;  ///< Sender's ConnId.
  std::uint32_t sequence =
      0;  ///< Of data and bye on this connection, from 0: a small message may overtake a large one.
};
static_assert(sizeof(UcxHeader) == 24 && std::has_unique_object_representations_v<UcxHeader>);

struct UcxGreeting {
  std::uint64_t key = 0;  ///< What to say in messages to the sender of this greeting.
  std::uint32_t message_max = 0;
  std::uint32_t reserved = 0;
  std::array<char, 64> name{};  ///< "host:pid", for people.
};
static_assert(sizeof(UcxGreeting) == 80 && std::has_unique_object_representations_v<UcxGreeting>);

}  // namespace sumac::net
