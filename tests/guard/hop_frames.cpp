// hop-frames DEVICE FILE COUNT RATE SEED sends COUNT packets to a device, RATE a second (0: as fast as it can), and prints the seconds that took.
// from the device's own link address: one that belongs to somebody else would make a bridge send that host's packets here, which no program
// on the way can prevent. FILE has the packets that it sends in turn: a byte for the kind, two for the size, then Ethernet, IPv4, UDP and a frame of the datagram way.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

enum Kind : std::uint8_t {
  kAsIs,
  kMutated,  ///< some bits of our frame are others
  kForged,   ///< tag, flags, sequence number and payload are made up
  kCut,      ///< shorter, with the right sizes in the headers before
  kKinds
};

constexpr std::size_t kFrameAt = sizeof(ether_header) + sizeof(iphdr) + sizeof(udphdr), kFrameBytes = 32, kBatch = 50;

struct Packet {
  Kind kind = kAsIs;
  std::vector<std::uint8_t> bytes;
};

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::vector<Packet> read_packets(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<std::uint8_t> all{std::istreambuf_iterator<char>(file), {}};
  std::vector<Packet> packets;
  for (std::size_t at = 0; at + 3 <= all.size();) {
    const std::size_t size = all[at + 1] | all[at + 2] << 8, from = at + 3;
    if (all[at] >= kKinds || size < kFrameAt + kFrameBytes || from + size > all.size()) break;
    Packet packet;
    packet.kind = static_cast<Kind>(all[at]);
    packet.bytes.assign(&all[from], &all[from] + size);
    packets.push_back(std::move(packet));
    at = from + size;
  }
  if (packets.empty()) std::fprintf(stderr, "hop-frames: no packets in %s\n", path), std::exit(1);
  return packets;
}

void mutate(std::vector<std::uint8_t>& bytes, std::mt19937_64& random) {
  // An odd number of flips changes something, also where two of them meet.
  for (unsigned flips = 1 + 2 * (random() % 3); flips > 0; --flips) {
    const auto bit = random() % (8 * (bytes.size() - kFrameAt));
    bytes[kFrameAt + bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
  }
}

void forge(std::vector<std::uint8_t>& bytes, std::mt19937_64& random) {
  std::uint8_t* frame = &bytes[kFrameAt];
  const std::uint64_t tag = random();
  std::memcpy(frame + 8, &tag, sizeof tag);
  frame[17] = random() % 8;
  std::uint32_t sequence = 0;
  std::memcpy(&sequence, frame + 24, sizeof sequence);
  sequence += static_cast<std::uint32_t>(random() % 16);
  std::memcpy(frame + 24, &sequence, sizeof sequence);
  for (std::size_t at = kFrameAt + kFrameBytes; at < bytes.size(); ++at)
    bytes[at] = static_cast<std::uint8_t>(random());
}

/// Bridges may look at it.
void sum_ip_header(std::vector<std::uint8_t>& bytes) {
  std::uint8_t* const ip = &bytes[sizeof(ether_header)];
  std::memset(ip + offsetof(iphdr, check), 0, 2);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < sizeof(iphdr); i += 2) sum += ip[i] << 8 | ip[i + 1];
  sum = (sum & 0xFFFF) + (sum >> 16);
  const std::uint16_t check = htons(static_cast<std::uint16_t>(~((sum & 0xFFFF) + (sum >> 16))));
  std::memcpy(ip + offsetof(iphdr, check), &check, sizeof check);
}

void cut(std::vector<std::uint8_t>& bytes, std::mt19937_64& random) {
  bytes.resize(kFrameAt + random() % (bytes.size() - kFrameAt));
  const auto ip_bytes = htons(static_cast<std::uint16_t>(bytes.size() - sizeof(ether_header)));
  const auto udp_bytes = htons(static_cast<std::uint16_t>(bytes.size() - sizeof(ether_header) - sizeof(iphdr)));
  std::memcpy(&bytes[sizeof(ether_header) + offsetof(iphdr, tot_len)], &ip_bytes, sizeof ip_bytes);
  std::memcpy(&bytes[kFrameAt - sizeof(udphdr) + offsetof(udphdr, len)], &udp_bytes, sizeof udp_bytes);
  sum_ip_header(bytes);
}

void change(Packet& packet, const ifreq& own, std::mt19937_64& random) {
  if (packet.kind == kMutated) mutate(packet.bytes, random);
  if (packet.kind == kForged) forge(packet.bytes, random);
  if (packet.kind == kCut) cut(packet.bytes, random);
  std::memcpy(&packet.bytes[offsetof(ether_header, ether_shost)], own.ifr_hwaddr.sa_data, ETH_ALEN);
  // No checksum: a receiver then looks at none.
  std::memset(&packet.bytes[kFrameAt - sizeof(udphdr) + offsetof(udphdr, check)], 0, 2);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return std::fprintf(stderr, "usage: %s DEVICE FILE COUNT RATE SEED\n", argv[0]), 2;
  const auto packets = read_packets(argv[2]);
  const std::size_t count = std::stoul(argv[3]), rate = std::stoul(argv[4]);
  std::mt19937_64 random(std::stoul(argv[5]));
  const int socket = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  sockaddr_ll device{};
  device.sll_family = AF_PACKET;
  device.sll_protocol = htons(ETH_P_IP);
  device.sll_ifindex = static_cast<int>(if_nametoindex(argv[1]));
  if (socket < 0 || bind(socket, reinterpret_cast<const sockaddr*>(&device), sizeof device) != 0) die(argv[1]);
  ifreq own{};
  std::strncpy(own.ifr_name, argv[1], sizeof own.ifr_name - 1);
  if (ioctl(socket, SIOCGIFHWADDR, &own) != 0) die(argv[1]);
  std::array<Packet, kBatch> out;
  std::array<iovec, kBatch> pieces{};
  std::array<mmsghdr, kBatch> messages{};
  const auto begun = std::chrono::steady_clock::now();
  for (std::size_t sent = 0; sent < count;) {
    const std::size_t batch = std::min(kBatch, count - sent);
    for (std::size_t i = 0; i < batch; ++i) {
      out[i] = packets[(sent + i) % packets.size()];
      change(out[i], own, random);
      pieces[i] = {out[i].bytes.data(), out[i].bytes.size()};
      messages[i].msg_hdr.msg_iov = &pieces[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
    for (std::size_t done = 0; done < batch;) {
      const int taken = sendmmsg(socket, &messages[done], static_cast<unsigned>(batch - done), 0);
      if (taken < 0 && errno != ENOBUFS && errno != EINTR) die("send");
      if (taken > 0) done += static_cast<std::size_t>(taken);
    }
    sent += batch;
    if (rate > 0) std::this_thread::sleep_until(begun + std::chrono::nanoseconds(sent * 1'000'000'000 / rate));
  }
  std::printf("%.3f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  return close(socket);
}
