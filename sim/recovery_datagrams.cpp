// The datagram way of a group that outlives its trees: frames between the members and the kernels of nodes.
#include "sim/recovery_lasting_world.hpp"

namespace sumac::sim {
namespace {

/// The product's is 4.
constexpr std::uint32_t kWindows[] = {2, 4, 8};

}  // namespace

void LastingWorld::add_kernel(LastingNode& node) {
  const std::uint32_t window = kWindows[plan_.base.seed / 2 % std::size(kWindows)];
  node.kernel = std::make_unique<proto::test::TestKernel>(node, window);
  Random r(plan_.base.seed * 1000 + node.end);
  node.kernel_outlives = r.chance(0.5);
  node.kernel->serves = !r.chance(0.02);
  node.kernel->begins = !r.chance(0.02);
  if (r.chance(0.03)) node.silent_from = network_.now() + Millis(r.between(1, 20));
}

void LastingWorld::take_frame(EndId to, proto::LinkId link, std::span<const std::byte> frame, Time now) {
  LastingMember* member = member_at(to);
  if (member == nullptr) {
    LastingNode& node = *nodes_[to];
    if (!node.kernel || now >= node.silent_from || (node.is_dead && !node.kernel_outlives)) return;
    node.kernel->receive(link, frame);
    for (const auto& each : std::exchange(node.differing, {}))
      if (!node.is_dead)
        node.engine->on_datagram_differs(static_cast<std::uint16_t>(each.frame.group), each.frame, each.agreed,
                                         each.other, now);
    if (!node.is_dead) act_on_drops(to);
    return;
  }
  if (member->dies) return;
  if (Client* client = client_of(*member, link); client != nullptr) client->engine->on_datagram(frame, now);
  drive(*member, now);
}

}  // namespace sumac::sim
