// The fuzzer's bytes become the messages of one member to two others of a group that has lost its tree: bytes of any form, and
// messages that were really sent with some bytes changed. Whatever arrives, the members neither break nor keep more than they
// may, and when the manager has said that the others are dead, every operation has ended.
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "proto/recovery_return.hpp"
#include "proto/test_recovery.hpp"

SUMAC_FUZZ(recovery) {
  using namespace sumac;
  using namespace sumac::proto;
  fuzz::Input in(data, size);
  test::LastingGroup world(3);
  std::vector<std::vector<std::byte>> src(3, std::vector<std::byte>(512)), dst = src;
  const wire::Coll kinds[] = {wire::Coll::allreduce, wire::Coll::bcast, wire::Coll::reduce};
  const auto post = [&](std::size_t rank, std::uint8_t kind) {
    Operation operation{.coll = kinds[kind % 3], .dtype = Dtype::int64, .count = kind % 60u};
    if (operation.coll != wire::Coll::bcast) operation.op = Op::sum;
    operation.root = kind / 64u % 3;
    if (operation.coll == wire::Coll::bcast && operation.root != rank) operation.give = {0, 0};
    if (operation.coll == wire::Coll::reduce && operation.root != rank) operation.keep = {0, 0};
    operation.src = src[rank];
    operation.dst = dst[rank];
    (void)world[rank].post(operation, world.tree.now);
  };
  const auto first = in.byte();
  for (std::size_t rank = 0; rank < 2; ++rank) post(rank, first);
  world.tree.run();
  world.lose_tree();
  std::vector<std::vector<std::byte>> sent;
  while (!in.empty()) {
    const auto what = in.byte();
    const std::size_t to = what & 1;
    switch (what >> 1 & 3) {
      case 0: post(to, in.byte()); break;
      case 1: {  // The members go on among themselves.
        for (auto& message : std::exchange(world.queue, {})) {
          sent.push_back(message.bytes);
          if (message.to != 2) world[message.to].on_message(message.from, message.bytes, world.tree.now);
        }
        break;
      }
      case 2: {  // A message that was sent comes from the third member, changed.
        if (sent.empty()) break;
        auto bytes = sent[in.byte() % sent.size()];
        for (auto changes = in.byte() % 4; changes > 0; --changes)
          if (const std::size_t at = in.word() % bytes.size(); true) bytes[at] ^= static_cast<std::byte>(in.byte());
        world[to].on_message(2, bytes, world.tree.now);
        break;
      }
      default: {
        const auto text = in.bytes(in.byte());
        std::optional<recovery::Proposal> proposal;
        std::optional<recovery::Readiness> readiness;
        const char* flaw = recovery::decode(std::as_bytes(std::span(text)), proposal, readiness);
        fuzz::must((flaw == nullptr) == (proposal || readiness) && !(proposal && readiness),
                   "a word of the return is a proposal or a readiness");
        world[to].on_message(in.byte() % 4, std::as_bytes(std::span(text)), world.tree.now);
        break;
      }
    }
    for (std::size_t rank = 0; rank < 2; ++rank)
      fuzz::must(world[rank].bytes_kept() <= world[rank].kept_most() + world[rank].gathered_most(),
                 "memory is bounded");
  }
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    auto& group = world[rank];
    for (std::uint32_t other = 0; other < 3; ++other)
      if (other != rank) group.dead(other, world.tree.now);
    while (group.next_completion()) {
    }
    fuzz::must(group.outstanding() == 0, "nobody waits for the dead");
  }
  return 0;
}
