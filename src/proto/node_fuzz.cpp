// The fuzzer's bytes become a conversation: three members of a group that stands, a client of the job that is no
// member, and a peer that has not proven itself yet send headers of the right shape with arbitrary fields. Whatever
// arrives, the node neither breaks nor loses count of its OSTs.
#include <cstdlib>
#include <stdexcept>

#include "base/fuzz_target.hpp"
#include "proto/test_tree.hpp"

namespace {

using namespace sumac;
using namespace sumac::proto;

struct Reader {
  std::span<const std::uint8_t> left;
  std::uint8_t byte() {
    if (left.empty()) return 0;
    const auto value = left.front();
    left = left.subspan(1);
    return value;
  }
  /// Returns a mostly small number, sometimes one around the limits.
  std::uint32_t number() {
    const auto b = byte();
    if (b < 0xF0) return b & 0x1F;
    return b == 0xFF ? 0xFFFFFFFFu - byte() : static_cast<std::uint32_t>(byte()) << (b & 0x0F) * 2;
  }
};

}  // namespace

SUMAC_FUZZ(node) {
  Reader in{{data, size}};
  test::StandingGroup world(3);
  auto& stranger = world.tree.add_client(world.node, 9);
  world.tree.run();
  auto& unproven = world.tree.add_node(300, false);
  unproven.up = world.tree.connect(unproven, world.node);
  while (!in.left.empty()) {
    const auto who = in.byte();
    auto& from = who % 4 != 3 ? *world.clients[who % 4] : (who & 0x10) != 0 ? unproven : stranger;
    wire::AggHeader h;
    h.kind = static_cast<wire::AggKind>(in.byte() % 24);
    h.tree_id = test::kTree;
    h.group_id = (who & 0x40) != 0 ? GroupId{in.number()} : world.group_id;
    h.sequence = Sequence{in.number()};
    std::vector<std::byte> body;
    if (wire::carries_data(h.kind)) {
      h.coll = static_cast<wire::Coll>(in.byte() % 10);
      h.origin = who % 4;
      h.members = 1;
      if (h.coll == wire::Coll::allreduce) {
        h.op = static_cast<Op>(in.byte() % 13);
        h.dtype = static_cast<Dtype>(in.byte() % 13);
        h.count = in.number();
        h.flags = wire::kFlagFirst | wire::kFlagLast | (in.byte() & wire::kFlagStreaming);
        body.resize(h.count * element_bytes(h.dtype, h.op) & 0xFFFF);
      }
    } else {
      body.resize(wire::body_bytes(h.kind));
      for (auto& byte : body) byte = static_cast<std::byte>(in.byte() & 0x07);
      const JobId job = test::kJob;
      if (body.size() >= sizeof job && (in.byte() & 1) != 0) std::memcpy(body.data(), &job, sizeof job);
      if (h.kind == wire::AggKind::hello && (who & 0x80) != 0) {
        wire::HelloBody hello{.job_id = job, .id = in.byte()};
        if ((in.byte() & 1) != 0) hello.job_id = JobId{}, hello.role = wire::Role::node;
        wire::store(body.data(), hello);
      }
    }
    h.payload_bytes = static_cast<std::uint32_t>(body.size());
    if ((who & 0x20) != 0 && !body.empty()) body.pop_back();
    world.tree.inject(from, from.up, h, body);
    world.tree.run();
  }
  for (auto* client : world.clients) world.tree.cut(client->up);
  world.tree.cut(stranger.up);
  world.tree.cut(unproven.up);
  world.tree.run();
  for (const auto& job : world.node.node->jobs())
    if (job.osts_free != job.grant.quota.osts || !world.node.node->idle()) std::abort();
  if (world.node.node->proven(unproven.up) || world.node.node->links() != 0) std::abort();
  return 0;
}
