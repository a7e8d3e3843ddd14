// The fuzzer's bytes become the messages of two members to a third one that has operations under way: good headers with
// some fields off, in any order, whole or into placed memory. Whatever arrives, nothing is written outside of the
// operations' memory, early messages stay within their bound, and once the connections are lost every operation has
// ended.
#include <array>
#include <vector>

#include "base/fuzz_target.hpp"
#include "p2p/fuzz_carrier.hpp"

namespace {

using namespace sumac;
using namespace sumac::p2p;

constexpr std::uint32_t kSize = 3, kGroup = 7;

}  // namespace

SUMAC_FUZZ(engine) {
  fuzz::Input in(data, size);
  FuzzCarrier carrier;
  BufferPool pool(64u << 20);
  Engine engine({.rank = 0, .size = kSize, .group = kGroup, .eager_max = 512, .window = 4}, carrier, pool);
  coll::Fold fold;
  fold.kernel = reduce::kernel_for(Op::sum, Dtype::int64);
  fold.element_bytes = 8;
  fold.dtype = Dtype::int64;
  fold.op = Op::sum;
  constexpr std::size_t kWords = 500, kMargin = 8;
  std::vector<std::vector<std::int64_t>> memory;
  std::vector<void*> requests;
  Time now{};
  constexpr std::size_t kOperations = 6;
  memory.reserve(kOperations);
  const auto start = [&] {
    if (memory.size() == kOperations) return;
    const std::size_t words = memory.size() % 2 == 0 ? 4 : kWords;
    auto& mine = memory.emplace_back(kWords + 2 * kMargin, -1);
    const coll::Operation operation{.kind = memory.size() % 3 == 0 ? coll::Kind::bcast : coll::Kind::allreduce,
                                    .root = 1,
                                    .out = mine.data() + kMargin,
                                    .bytes = words * 8,
                                    .fold = &fold};
    const Algorithm algorithm = operation.kind == coll::Kind::bcast ? Algorithm::binomial
                                : memory.size() % 4 == 0            ? Algorithm::doubling
                                                                    : Algorithm::blocks;
    void* request = nullptr;
    if (engine.start(operation, algorithm, request, now) == Engine::Progress::pending) requests.push_back(request);
  };
  start();
  start();
  while (!in.empty() && !engine.failure()) {
    const auto what = in.byte();
    const std::uint32_t peer = 1 + (what & 1);
    now += Millis{what & 0x40};
    if ((what & 0x30) == 0x30) start();
    wire::PeerHeader h;
    h.group = (what & 0x80) != 0 && in.byte() == 0 ? in.word() : kGroup;
    h.kind = static_cast<wire::PeerKind>(4 + in.byte() % 6);
    h.begun = in.byte() % 8;
    h.ended = in.byte() % 8;
    std::size_t payload = 0;
    if (h.kind == wire::PeerKind::data || h.kind == wire::PeerKind::ready || h.kind == wire::PeerKind::ask) {
      const auto number = in.byte();
      h.sequence = number & 7;
      h.index = (number >> 3) & 3;
      // The terms are right but for one field, sometimes.
      const auto k = h.sequence + 1;
      h.terms.coll = static_cast<std::uint8_t>(k % 3 == 0 ? coll::Kind::bcast : coll::Kind::allreduce);
      h.terms.algorithm = static_cast<std::uint8_t>(k % 3 == 0   ? Algorithm::binomial
                                                    : k % 4 == 0 ? Algorithm::doubling
                                                                 : Algorithm::blocks);
      h.terms.root = k % 3 == 0 ? 1 : 0;
      if (k % 3 != 0) {
        h.terms.op = Op::sum;
        h.terms.dtype = Dtype::int64;
        h.terms.element_bytes = 8;
      }
      h.terms.bytes = (k % 2 == 1 ? 4 : kWords) * 8;
      if ((number & 0x80) != 0) h.terms.bytes = in.word();
      if ((number & 0x40) != 0) h.terms.direct = in.byte() & 1;
      if (h.kind == wire::PeerKind::data) payload = (what & 8) != 0 ? in.word() : std::size_t{in.byte()} * 8;
    } else if (h.kind == wire::PeerKind::abort) {
      payload = sizeof(wire::AbortBody);
    }
    h.payload_bytes = static_cast<std::uint32_t>(payload);
    std::vector<std::byte> message(wire::kPeerHeaderBytes + payload, std::byte{0x11});
    wire::store(message.data(), h);
    arrive(engine, pool, peer, message, 512);
    if ((what & 4) != 0) engine.on_writable(peer);
    engine.settle(now);
    fuzz::must(engine.early_bytes() <= (kSize - 1) * (16 + kOperations) * 4096, "early messages are bounded");
  }
  engine.on_lost(1, {Errc::lost, "closed"});
  engine.on_lost(2, {Errc::lost, "closed"});
  fuzz::must(engine.is_idle() || !engine.failure(), "a failed group has no operation");
  engine.fail({Errc::lost, "the end"});
  for (void* request : requests)
    fuzz::must(engine.test(request) != Engine::Progress::pending, "every operation has ended");
  fuzz::must(carrier.has_failed, "the carrier was told");
  for (std::size_t k = 0; k < memory.size(); ++k) {
    const std::size_t words = k % 2 == 0 ? 4 : kWords;
    for (std::size_t i = 0; i < memory[k].size(); ++i)
      if (i < kMargin || i >= kMargin + words) fuzz::must(memory[k][i] == -1, "nothing is written outside");
  }
  return 0;
}
