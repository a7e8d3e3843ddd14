#pragma once
// A world of its own for a test that loads the program: a network namespace without another device than lo, and a file
// system for pins, both gone with the process.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "kernel/loader.hpp"

namespace sumac::kernel::test {

/// Returns why the kernel can't be asked here, once in a process, or nothing.
inline const std::string& obstacle() {
  static const std::string found = [] {
    if (geteuid() != 0) return std::string("only root may load a program into the kernel");
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) return std::string("no namespaces: ") + std::strerror(errno);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || mount("bpf", "/tmp", "bpf", 0, nullptr) != 0)
      return std::string("no file system for pins: ") + std::strerror(errno);
    auto loaded = Program::load({.pins = "/tmp/obstacle", .groups_max = 1});
    if (loaded) return (void)loaded->unpin(), std::string();
    return loaded.error().code == Errc::denied ? loaded.error().context : std::string();
  }();
  return found;
}

#define SKIP_WITHOUT_KERNEL() \
  if (!::sumac::kernel::test::obstacle().empty()) GTEST_SKIP() << ::sumac::kernel::test::obstacle()

inline constexpr std::uint16_t kPort = 7100, kPeerPort = 7200;
inline constexpr std::uint8_t kSum = 2, kUint64 = 2;

/// Addresses are 10.0.0.N, or fd00::N: N is 1 for the node, 2 for its parent, 10 + i for child i.
inline HopEnd end_of(unsigned n, bool ipv6) {
  HopEnd end{};
  if (ipv6)
    end.address[0] = 0xfd, end.address[15] = static_cast<std::uint8_t>(n);
  else
    end.address[0] = 10, end.address[3] = static_cast<std::uint8_t>(n);
  end.port = __builtin_bswap16(n == 1 ? kPort : kPeerPort);
  const std::uint8_t mac[] = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(n)};
  std::memcpy(end.mac, mac, sizeof mac);
  end.device = 1;
  end.group = 70 + n;
  return end;
}

inline HopGroup group_of(unsigned children, bool is_root, bool ipv6 = false, unsigned slots = 4) {
  HopGroup group{};
  group.place.children = children;
  group.place.slots = slots;
  group.place.is_root = is_root;
  for (unsigned i = 0; i < kHopChildren; ++i) group.place.alone[i] = i;
  group.payload_bytes_max = children > 16 ? 8 * kHopPartWords / kHopChildren : 8 * kHopPayloadWords;
  group.child_of_parent = 5;
  group.down_key = {{1, 2}};
  group.up_key = {{3, 4}};
  group.parent_key = {{5, 6}};
  group.self = end_of(1, ipv6);
  group.parent = end_of(2, ipv6);
  for (unsigned i = 0; i < children; ++i) group.child[i] = {.key = {{100 + i, i}}, .end = end_of(10 + i, ipv6)};
  return group;
}

inline HopFrame contribution(std::uint32_t index, std::uint32_t sequence, unsigned child, unsigned words = 1) {
  HopFrame frame{};
  frame.header = {.magic = kHopMagic,
                  .version = kHopVersion,
                  .group = index,
                  .kind = kHopContribute,
                  .flags = kHopFull,
                  .child = static_cast<std::uint8_t>(child),
                  .coll = kHopAllreduce,
                  .op = kSum,
                  .dtype = kUint64,
                  .payload_bytes = static_cast<std::uint16_t>(8 * words),
                  .sequence = sequence};
  return frame;
}

inline void seal(HopFrame& frame, const HopKey& key) {
  frame.header.tag = hop_tag(&key, &frame.header, &frame.payload, hop_words(&frame.header));
}

/// The sum of 16-bit words in the network's order, as the internet's checksums have it.
inline std::uint32_t internet_sum(const std::vector<std::uint8_t>& bytes, std::size_t from, std::size_t to) {
  std::uint32_t sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += ((i - from) & 1) ? bytes[i] : bytes[i] << 8;
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum;
}

/// A frame of Ethernet, IP and UDP around one of ours.
struct Packet {
  std::vector<std::uint8_t> bytes;
  bool ipv6 = false;

  std::size_t udp_at() const { return ipv6 ? 54 : 34; }
  HopFrame frame() const {
    HopFrame found{};
    std::memcpy(&found, bytes.data() + udp_at() + 8, bytes.size() - udp_at() - 8);
    return found;
  }
  /// 0xFFFF if the checksum is right.
  std::uint32_t udp_sum() const {
    const std::uint32_t length = static_cast<std::uint32_t>(bytes.size() - udp_at());
    std::uint32_t sum = internet_sum(bytes, ipv6 ? 22 : 26, bytes.size()) + 17 + length;
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    return sum;
  }
};

enum class Checksum { whole, none };

inline Packet packet_of(const HopFrame& frame, const HopEnd& from, const HopEnd& to, bool ipv6 = false,
                        Checksum checksum = Checksum::whole) {
  const std::size_t payload = kHopHeaderBytes + 8 * hop_words(&frame.header), ip = ipv6 ? 40 : 20;
  Packet packet{.bytes = std::vector<std::uint8_t>(14 + ip + 8 + payload), .ipv6 = ipv6};
  std::uint8_t* at = packet.bytes.data();
  std::memcpy(at, to.mac, 6);
  std::memcpy(at + 6, from.mac, 6);
  at[12] = ipv6 ? 0x86 : 0x08;
  at[13] = ipv6 ? 0xDD : 0x00;
  const std::size_t udp_bytes = 8 + payload, total = ip + udp_bytes;
  if (ipv6) {
    at[14] = 0x60;
    at[18] = static_cast<std::uint8_t>(udp_bytes >> 8), at[19] = static_cast<std::uint8_t>(udp_bytes);
    at[20] = 17, at[21] = 64;
    std::memcpy(at + 22, from.address, 16);
    std::memcpy(at + 38, to.address, 16);
  } else {
    at[14] = 0x45;
    at[16] = static_cast<std::uint8_t>(total >> 8), at[17] = static_cast<std::uint8_t>(total);
    at[22] = 64, at[23] = 17;
    std::memcpy(at + 26, from.address, 4);
    std::memcpy(at + 30, to.address, 4);
    const std::uint32_t sum = ~internet_sum(packet.bytes, 14, 34);
    at[24] = static_cast<std::uint8_t>(sum >> 8), at[25] = static_cast<std::uint8_t>(sum);
  }
  std::uint8_t* udp = at + packet.udp_at();
  std::memcpy(udp, &from.port, 2);
  std::memcpy(udp + 2, &to.port, 2);
  udp[4] = static_cast<std::uint8_t>(udp_bytes >> 8), udp[5] = static_cast<std::uint8_t>(udp_bytes);
  std::memcpy(udp + 8, &frame, payload);
  if (checksum == Checksum::whole) {
    const std::uint32_t sum = ~packet.udp_sum();
    udp[6] = static_cast<std::uint8_t>(sum >> 8), udp[7] = static_cast<std::uint8_t>(sum);
  }
  return packet;
}

inline constexpr int kGoesOn = -1, kDropped = 2, kRedirected = 7;

/// The program's verdict, and the packet as it left it.
struct Outcome {
  int verdict = 0;
  Packet packet;
};

inline Outcome receive(const Program& program, const Packet& packet) {
  std::vector<std::uint8_t> out(packet.bytes.size() + 64);
  bpf_test_run_opts run{};
  run.sz = sizeof run;
  run.data_in = packet.bytes.data();
  run.data_size_in = static_cast<std::uint32_t>(packet.bytes.size());
  run.data_out = out.data();
  run.data_size_out = static_cast<std::uint32_t>(out.size());
  EXPECT_EQ(bpf_prog_test_run_opts(program.receiver(), &run), 0);
  out.resize(run.data_size_out);
  return {static_cast<int>(run.retval), {std::move(out), packet.ipv6}};
}

}  // namespace sumac::kernel::test
