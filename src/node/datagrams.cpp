#include "node/datagrams.hpp"

#ifndef SUMAC_WITH_KERNEL

namespace sumac::node {

Result<> Datagrams::try_kernel() {
  return fail(Errc::unsupported, "this sharp_an was built without clang or libbpf (libbpf-dev)");
}

Result<std::unique_ptr<Datagrams>> Datagrams::make(net::Transport&, const std::string&, Logger&) {
  return tl::unexpected(try_kernel().error());
}

std::string Datagrams::pins_of(std::string_view, std::uint32_t) { return {}; }
Result<> Datagrams::clear_former(const std::string&) { return {}; }
std::uint16_t Datagrams::former_port(const std::string&) { return 0; }

}  // namespace sumac::node

#else

#include <linux/magic.h>
#include <net/if.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>

#include "kernel/loader.hpp"
#include "net/datagram_socket.hpp"
#include "net/neighbour.hpp"
#include "wire/hop_frame.hpp"

namespace sumac::node {
namespace {

constexpr std::uint32_t kGroups = 64, kWindow = 4;
/// A daemon that is dead for so long has no members any more: they have another tree, or are their own.
constexpr Duration kLease = Seconds(10), kRenewEvery = Seconds(2);
constexpr int kFramesPerPass = 16;

std::uint64_t boot_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

kernel::LoadOptions options_of(const std::string& pins) {
  return {.pins = pins, .groups_max = kGroups, .slots_max = 2 * kWindow};
}

std::uint64_t lease_end() { return boot_time_ns() + static_cast<std::uint64_t>(kLease.count()); }

std::uint16_t in_network_order(std::uint16_t port) {
  return std::endian::native == std::endian::big ? port : static_cast<std::uint16_t>(port << 8 | port >> 8);
}

void put(HopEnd& end, const net::SocketAddress& address, std::uint16_t port, std::uint16_t group) {
  std::ranges::copy(address.host(), end.address);
  end.port = in_network_order(port);
  end.group = group;
}

void put(HopEnd& end, const net::Neighbour& place) {
  std::ranges::copy(place.next, end.mac);
  end.device = place.interface;
}

class Kernel final : public Datagrams {
 public:
  Kernel(kernel::Program program, net::DatagramSocket socket, net::SocketAddress own, net::Transport& transport,
         Logger& log)
      : program_(std::move(program)), socket_(std::move(socket)), own_(own), transport_(transport), log_(log) {}
  ~Kernel() override {
    transport_.remove_reader(socket_.fd());
    for (const auto& device : devices_)
      if (const auto gone = program_.detach(device); !gone)
        SUMAC_WARN(log_, "hop: {} keeps the filter: {}", device, gone.error().context);
    if (const auto gone = program_.unpin(); !gone) SUMAC_WARN(log_, "hop: {}", gone.error().context);
  }

  /// A former process of this node was killed. Its members have time to go elsewhere; those of groups that it had from another one
  /// have no more than they had.
  void adopt() {
    std::uint32_t count = 0;
    for (std::uint32_t number = 0; number < kGroups; ++number)
      if (const auto group = program_.group(number); group && group->place.children != 0) {
        groups_[number] = {Use::left, {}, *group, {}};
        leave(number);
        ++count;
      }
    if (count != 0)
      SUMAC_INFO(log_, "hop: {} groups of a former process go on in the kernel until their members have other ones",
                 count);
  }

  Result<> attach() {
    const auto device = own_.is_loopback() ? Result<std::optional<std::string>>("lo") : net::interface_with(own_);
    if (!device) return tl::unexpected(device.error());
    if (!*device) return fail(Errc::not_found, "no interface has the address {}", net::format_address(own_));
    const auto mac = net::link_address_of(if_nametoindex((*device)->c_str()));
    if (!mac) return tl::unexpected(mac.error());
    mac_ = *mac;
    // Members on this host come by loopback.
    for (const auto& name : {**device, std::string("lo")}) {
      if (std::ranges::find(devices_, name) != devices_.end()) continue;
      if (auto attached = program_.attach(name); !attached) return within(name, attached.error());
      devices_.push_back(name);
    }
    if (transport_.add_reader(socket_.fd(), 0) != Errc::ok) return fail(Errc::unsupported, "the transport is not tcp");
    return {};
  }

  std::optional<Terms> reserve(std::uint32_t children) override {
    const auto place = std::ranges::find(groups_, Use::none, &Used::use);
    if (children == 0 || children > kHopChildren || place == groups_.end()) return std::nullopt;
    Terms terms;
    const auto nonce = draw_secret();
    if (!nonce) return std::nullopt;
    terms.nonce = *nonce;
    terms.window = kWindow;
    terms.end.port = own_.port();
    terms.end.group = static_cast<std::uint16_t>(place - groups_.begin());
    terms.end.payload_max =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(8 * kHopPayloadWords, 8 * kHopPartWords / children) & ~7u);
    place->use = Use::reserved;
    return terms;
  }

  bool begin(const Group& group) override {
    net::SocketAddress parent;
    const auto made = describe(group, parent);
    const Result<> begun = made ? program_.begin_group(group.number, *made, number_of(group.first))
                                : Result<>(tl::unexpected(made.error()));
    if (!begun) {
      SUMAC_WARN(log_, "hop: a group goes by TCP: {}", begun.error().context);
      return false;
    }
    groups_[group.number] = {Use::begun, {}, *made, parent};
    return true;
  }

  void end(std::uint16_t number) override {
    const auto use = std::exchange(groups_[number].use, Use::none);
    if (use != Use::begun && use != Use::left) return;
    if (const auto ended = program_.end_group(number); !ended)
      SUMAC_ERROR(log_, "hop: group {} stays in the kernel: {}", number, ended.error().context);
  }

  std::optional<Begun> begun(std::uint16_t number, Sequence sequence) override {
    const auto group = program_.group(number);
    if (!group) return std::nullopt;
    const auto slot = program_.look(*group, number_of(sequence));
    if (!slot || slot->sequence != number_of(sequence) || slot->claimed == 0 || slot->is_closed) return std::nullopt;
    return Begun{slot->agreed, static_cast<std::uint32_t>(std::countr_zero(slot->claimed))};
  }

  Sequence freeze(std::uint16_t number, Sequence from) override {
    if (const auto frozen = program_.freeze(number); !frozen)
      SUMAC_ERROR(log_, "hop: group {} goes on in the kernel: {}", number, frozen.error().context);
    // The kernel numbers its slots by itself, so its own entry is read.
    const auto group = program_.group(number);
    if (!group) return from;
    const std::uint32_t first = number_of(from), window = group->place.slots / 2;
    std::uint32_t behind = first;  // the last number that anybody has begun
    for (std::uint32_t i = 0; i < group->place.slots; ++i)
      if (const auto slot = program_.look(*group, i);
          slot && static_cast<std::int32_t>(slot->sequence + 1 - behind) > 0)
        behind = slot->sequence + 1;
    // A member that begins a number knows all as closed that lie a window before it.
    std::uint32_t unanswered = behind - first > window ? behind - window : first;
    while (unanswered != behind) {
      const auto slot = program_.look(*group, unanswered);
      if (!slot || !hop_is_answered(&*slot, unanswered)) break;
      ++unanswered;
    }
    return Sequence{unanswered};
  }

  void let_go(std::uint16_t number) override {
    Used& used = groups_[number];
    if (used.use != Use::begun) return end(number);
    used.use = Use::left;
    leave(number);
  }

  void probe_parent(std::uint16_t number, std::uint32_t probe) override {
    const Used& used = groups_[number];
    HopFrame frame{};
    frame.header.group = used.group.parent.group;
    frame.header.kind = kHopProbe;
    frame.header.child = static_cast<std::uint8_t>(used.group.child_of_parent);
    frame.header.sequence = probe;
    wire::HopFrameBytes bytes;
    socket_.send_to(used.parent, wire::seal_hop_frame(frame, used.group.up_key, bytes));
  }

  std::optional<std::uint32_t> probed(std::uint16_t number) override {
    const auto group = program_.group(number);
    return group && group->heard ? std::optional(group->probed) : std::nullopt;
  }

  void clear() override {
    for (std::size_t number = 0; number < groups_.size(); ++number)
      if (groups_[number].use != Use::left) end(static_cast<std::uint16_t>(number));
  }

  void on_readable(proto::Node& node, Time now) override {
    for (int i = 0; i < kFramesPerPass; ++i) {
      std::array<std::byte, wire::kHopFrameMax + 1> bytes;
      net::SocketAddress from;
      const std::size_t size = socket_.receive(bytes, &from);
      if (size == 0) return;
      look_at(std::span(bytes).first(size), from, node, now);
    }
  }

  void tick(proto::Node* node, Time now) override {
    if (now < renew_at_) return;
    if (node != nullptr) node->look_at_datagrams(now);
    for (std::size_t number = 0; number < groups_.size(); ++number)
      if (groups_[number].use == Use::left && now >= groups_[number].until) end(static_cast<std::uint16_t>(number));
    renew_at_ = now + kRenewEvery;
    if (const auto renewed = program_.renew_lease(lease_end()); !renewed)
      SUMAC_ERROR(log_, "hop: {}", renewed.error().context);
  }
  Time next_due() const override { return renew_at_; }

  control::HopTotals counts() const override {
    const auto all = program_.counts();
    if (!all) return {};
    const auto& of = all->count;
    const auto runs = program_.runs().value_or(kernel::Program::Runs{});
    return {of[kHopFrames],    of[kHopFolds],   of[kHopRepeats], of[kHopSent],
            of[kHopStrangers], of[kHopExpired], runs.count,      runs.ns};
  }

 private:
  enum class Use : std::uint8_t { none, reserved, begun, left };
  struct Used {
    Use use = Use::none;
    Time until{};  ///< left: then nobody needs it any more.
    HopGroup group{};
    net::SocketAddress parent{};  ///< It takes datagrams there.
  };

  Result<net::SocketAddress> peer_of(proto::LinkId link) const {
    auto peer = net::parse_address(transport_.peer(net::ConnId{link.value}));
    if (!peer) return peer;
    if (peer->family() != own_.family())
      return fail(Errc::unsupported, "{} is of another family than {}", net::format_address(*peer),
                  net::format_address(own_));
    return peer;
  }

  /// `at_parent`: where its datagrams go, if the group has a parent here.
  Result<HopGroup> describe(const Group& group, net::SocketAddress& at_parent) const {
    HopGroup made{};
    made.place = proto::place_of(group);
    made.payload_bytes_max = group.payload_max;
    made.down_key = group.results;
    put(made.self, own_, own_.port(), 0);
    std::ranges::copy(mac_, made.self.mac);
    for (std::size_t i = 0; i < group.children.size(); ++i) {
      const auto& child = group.children[i];
      const auto peer = peer_of(child.link);
      if (!peer) return tl::unexpected(peer.error());
      made.child[i].key = child.key;
      put(made.child[i].end, *peer, child.end.port, child.end.group);
    }
    if (!group.parent) return made;
    const auto parent = peer_of(group.parent);
    if (!parent) return tl::unexpected(parent.error());
    const auto place = net::neighbour_of(*parent);
    if (!place) return tl::unexpected(place.error());
    made.child_of_parent = group.terms_of_parent.child;
    made.up_key = group.up;
    made.parent_key = group.results_of_parent;
    at_parent = *parent;
    put(made.parent, *parent, parent->port(), group.terms_of_parent.group);
    put(made.parent, *place);
    return made;
  }

  /// The program has looked at its tag and passed it on: it differs from what others have sent for its number.
  void look_at(std::span<const std::byte> bytes, const net::SocketAddress& from, proto::Node& node, Time now) {
    HopFrame frame{};
    if (bytes.size() < sizeof frame.header || bytes.size() > sizeof frame) return;
    std::memcpy(&frame, bytes.data(), bytes.size());
    const HopHeader& header = frame.header;
    if (header.group >= groups_.size() || groups_[header.group].use != Use::begun) return;
    const HopGroup& group = groups_[header.group].group;
    if (header.kind != kHopContribute || header.child >= group.place.children) return;
    const HopChild& child = group.child[header.child];
    if (bytes.size() != sizeof header + 8 * hop_words(&header) || in_network_order(from.port()) != child.end.port ||
        !std::ranges::equal(from.host(), std::span(child.end.address).first(from.host().size())) ||
        header.tag != hop_tag(&child.key, &header, &frame.payload, hop_words(&header)))
      return;
    const auto entry = program_.group(header.group);
    if (!entry) return;
    const auto slot = program_.look(*entry, header.sequence);
    if (!slot || slot->sequence != header.sequence) return;
    node.on_datagram_differs(static_cast<std::uint16_t>(header.group), header, slot->agreed,
                             static_cast<std::uint32_t>(std::countr_zero(slot->claimed)), now);
  }

  /// The group's end is in the kernel, so that a successor of this process keeps to it.
  void leave(std::uint32_t number) {
    Used& used = groups_[number];
    std::uint64_t& until_ns = used.group.left_until_ns;
    if (until_ns == 0) {
      until_ns = lease_end();
      if (const auto left = program_.leave_group(number, until_ns); !left)
        SUMAC_WARN(log_, "hop: {}", left.error().context);
    }
    const auto now_ns = boot_time_ns();
    used.until = monotonic_now() + Duration(until_ns > now_ns ? until_ns - now_ns : 0);
  }

  kernel::Program program_;
  net::DatagramSocket socket_;
  net::SocketAddress own_;
  net::LinkAddress mac_{};
  net::Transport& transport_;
  Logger& log_;
  std::vector<std::string> devices_;
  std::array<Used, kGroups> groups_{};
  Time renew_at_{};
};

}  // namespace

Result<> Datagrams::try_kernel() {
  const auto loaded = kernel::Program::load({});
  return loaded ? Result<>{} : Result<>(tl::unexpected(loaded.error()));
}

std::string Datagrams::pins_of(std::string_view node, std::uint32_t tree) {
  // A service sees its own folder alone (sharp_daemons_setup.sh).
  constexpr std::array kFolders{"/run/sumac-an/bpf", "/sys/fs/bpf"};
  const auto is_bpf = [](const char* folder) {
    struct statfs system {};
    return ::statfs(folder, &system) == 0 && system.f_type == BPF_FS_MAGIC;
  };
  struct stat network {};
  const auto* const found = std::ranges::find_if(kFolders, is_bpf);
  if (found == kFolders.end() || ::stat("/proc/self/ns/net", &network) != 0) return {};
  std::string name(node);
  for (char& each : name)  // A file of this system has no dot in its name.
    if (std::isalnum(static_cast<unsigned char>(each)) == 0) each = '-';
  return fmt::format("{}/sumac/{}-{}-{}", *found, network.st_ino, name, tree);
}

Result<> Datagrams::clear_former(const std::string& pins) { return kernel::Program::clear(options_of(pins)); }

std::uint16_t Datagrams::former_port(const std::string& pins) {
  const auto former = kernel::Program::pinned(options_of(pins));
  return former ? in_network_order(former->port) : std::uint16_t{0};
}

Result<std::unique_ptr<Datagrams>> Datagrams::make(net::Transport& transport, const std::string& pins, Logger& log) {
  const auto address = transport.address();
  if (!address.starts_with("tcp:")) return fail(Errc::unsupported, "the transport is not tcp");
  const auto own = net::parse_address(std::string_view(address).substr(4));
  if (!own) return tl::unexpected(own.error());
  auto socket = net::DatagramSocket::bind(*own);
  if (!socket) return tl::unexpected(socket.error());
  auto options = options_of(pins);
  options.port = own->port();
  options.address = {own->host().begin(), own->host().end()};
  options.lease_end_ns = lease_end();
  // At another address nobody finds the groups of a former process. If its lease goes on, it may live: two have one name.
  if (const auto former = kernel::Program::pinned(options);
      former && (former->port != in_network_order(own->port()) ||
                 !std::ranges::equal(own->host(), std::span(former->address).first(own->host().size())))) {
    if (former->lease_end_ns > boot_time_ns())
      options.pins.clear();
    else if (auto cleared = clear_former(pins); !cleared)
      return tl::unexpected(cleared.error());
  }
  auto program = kernel::Program::load(options);
  if (!program) return tl::unexpected(program.error());
  auto made = std::make_unique<Kernel>(*std::move(program), *std::move(socket), *own, transport, log);
  made->adopt();
  if (auto attached = made->attach(); !attached) return tl::unexpected(attached.error());
  return std::unique_ptr<Datagrams>(std::move(made));
}

}  // namespace sumac::node

#endif
