// The fuzzer's bytes become the messages of a node to two members of a group: headers of the right shape with arbitrary
// fields, most of them naming the members' group. Whatever arrives, the members neither break nor wait for ever: when
// the link closes, every operation has ended.
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "proto/test_tree.hpp"

namespace {

using namespace sumac;
using namespace sumac::proto;

constexpr wire::AggKind kDown[] = {wire::AggKind::result,  wire::AggKind::joined,     wire::AggKind::verdict,
                                   wire::AggKind::over,    wire::AggKind::opened,     wire::AggKind::refused,
                                   wire::AggKind::hello,   wire::AggKind::contribute, wire::AggKind::invited,
                                   wire::AggKind::welcome, wire::AggKind::proof};

}  // namespace

SUMAC_FUZZ(client) {
  fuzz::Input in(data, size);
  test::StandingGroup world(2);
  world.tree.placing = static_cast<test::TestTree::Placing>(size % 3);
  std::vector<std::vector<std::byte>> src(2, std::vector<std::byte>(512)), dst = src;
  // Rank 0 waits for rank 1, which sends nothing, so that all answers come from the fuzzer.
  for (int i = 0; i < 3; ++i) {
    Operation operation;
    operation.coll = wire::Coll::allreduce;
    operation.op = Op::sum;
    operation.dtype = Dtype::int64;
    operation.count = 64;
    operation.src = src[0];
    operation.dst = dst[0];
    (void)world.groups[0]->post(operation, world.tree.now);
  }
  world.clients[0]->client->open(77, 2, world.tree.now);
  world.tree.run();
  // A third client has only sent its hello: whatever arrives, it must accept no parent but the node that knows the key.
  auto& greeting = world.tree.add_client(world.node, 2);
  greeting.client->open(78, 1, world.tree.now);
  world.tree.run_to(world.node);  // the client's welcome stays in flight
  world.tree.forget_to(greeting);
  while (!in.empty()) {
    const auto who = in.byte();
    auto& to = (who & 0x80) != 0 ? greeting : *world.clients[who & 1];
    wire::AggHeader h;
    h.kind = kDown[in.byte() % std::size(kDown)];
    h.tree_id = (who & 0x02) != 0 ? TreeId{in.byte()} : test::kTree;
    h.group_id = (who & 0x04) != 0 ? GroupId{in.word()} : world.group_id;
    h.sequence = Sequence{static_cast<std::uint32_t>(static_cast<std::int8_t>(in.byte()))};
    std::vector<std::byte> body;
    if (wire::carries_data(h.kind)) {
      h.coll = static_cast<wire::Coll>(in.byte() % 10);
      h.op = Op::sum;
      h.dtype = (who & 0x10) != 0 ? static_cast<Dtype>(in.byte() % 13) : Dtype::int64;
      h.count = in.byte();
      h.first = in.byte();
      h.flags = in.byte() & 0x0F;
      if (h.coll == wire::Coll::barrier || h.coll == wire::Coll::leave)
        h.op = Op::null, h.dtype = Dtype::null, h.count = h.first = 0;
      body.resize(in.word() % 600);
    } else {
      body.resize(wire::body_bytes(h.kind));
      const auto bytes = in.bytes(body.size());
      std::memcpy(body.data(), bytes.data(), bytes.size());
      const JobId job = test::kJob;
      if ((who & 0x20) != 0 && body.size() >= sizeof job) std::memcpy(body.data(), &job, sizeof job);
    }
    h.payload_bytes = static_cast<std::uint32_t>(body.size());
    // The same message also comes as a multicast of a member of the job, with a valid tag. It must complete nothing
    // twice and end nothing.
    if ((who & 0x40) != 0 && h.kind == wire::AggKind::result) {
      auto& group = *world.groups[who & 1];
      group.listen(true);
      wire::AggHeader good;
      const auto frame = world.tree.frame(h, body);
      if (wire::decode(frame.bytes(), wire::kPayloadMax, good) == Errc::ok)
        (void)group.on_multicast(good, frame, world.tree.now);
      continue;
    }
    world.tree.inject(world.node, to.up, h, body);
    world.tree.run();
  }
  fuzz::must(!greeting.client->proven(), "nobody is believed without a proof");
  for (std::size_t rank = 0; rank < 2; ++rank) {
    world.tree.cut(world.clients[rank]->up);
    auto& group = *world.groups[rank];
    while (group.next_completion()) {
    }
    fuzz::must(group.outstanding() == 0, "nothing is waited for on a link that has closed");
    group.leave(world.tree.now);
    world.tree.run();
  }
  return 0;
}
