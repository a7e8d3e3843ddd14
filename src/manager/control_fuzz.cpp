// Feeds any bytes as messages of nodes and sharpds: messages of control.proto with any content, in any order, on a few
// streams, while time passes. The manager must not break, must not grant more than there is, and must end streams that
// make no sense.
#include <nlohmann/json.hpp>

#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "manager/test_journal.hpp"
#include "manager/test_tree.hpp"

namespace sumac::manager {
namespace {

using fuzz::must;

template <class Message>
Message parse(std::string_view bytes) {
  Message message;
  // If the bytes are only partly valid, the fields that could be parsed are used.
  (void)message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()));
  return message;
}

struct World {
  TestJournal journal;
  Core core = test_core({}, journal);
  Time now = Time{} + Seconds(10);

  void check(const Actions& actions) {
    for (const auto& action : actions) {
      if (const auto* refuse = std::get_if<Refuse>(&action))
        must(!refuse->why.context.empty(), "a refusal has a reason");
      if (const auto* to = std::get_if<ToHost>(&action); to != nullptr && to->message.has_granted())
        must(to->message.granted().job_key().size() == 16, "a job has a key");
      if (const auto* say = std::get_if<Say>(&action)) must(say->text.size() < 8192, "a line of the log ends");
    }
  }
  void honest_start() {
    StreamId stream = 1;
    for (const auto* name : {"an-root", "an-leaf1", "an-leaf2"}) {
      check(core.node_registers(stream, test_register(name), now));
      control::v1::Link link;
      link.set_up(true);
      check(core.node_link(stream++, link, now));
    }
    check(core.host_registers(5, test_host(5), now));
    check(core.job_begins(5, test_begin(7), now));
  }
  void step(std::uint8_t what, StreamId stream, std::string_view bytes) {
    namespace v1 = control::v1;
    switch (what % 11) {
      case 0: return check(core.node_registers(stream, parse<v1::Register>(bytes), now));
      case 1: return check(core.node_acks(stream, parse<v1::Ack>(bytes).sequence(), now));
      case 2: return check(core.node_defers(stream, parse<v1::Deferred>(bytes)));
      case 3: return check(core.node_link(stream, parse<v1::Link>(bytes), now));
      case 4: return check(core.node_stream_ended(stream, now));
      case 5: return check(core.host_registers(stream, parse<v1::HostRegister>(bytes), now));
      case 6: return check(core.job_begins(stream, parse<v1::JobBegin>(bytes), now));
      case 7: return check(core.job_ends(stream, parse<v1::JobEnd>(bytes), now));
      case 8: return check(core.host_renews(stream, parse<v1::Renew>(bytes), now));
      case 10: return check(core.node_neighbour(stream, parse<v1::Neighbour>(bytes), now));
      default: return check(core.host_stream_ended(stream, now));
    }
  }
};

}  // namespace
}  // namespace sumac::manager

SUMAC_FUZZ(control) {
  using namespace sumac;
  using namespace sumac::manager;
  fuzz::Input in(data, size);
  World world;
  if ((in.byte() & 1) != 0) world.honest_start();
  while (!in.empty()) {
    const auto what = in.byte(), stream = in.byte();
    world.step(what, 1 + stream % 8, in.bytes(in.word() % 512));
    if ((stream & 0x80) != 0) world.now += Millis(100 * (stream & 0x3F));
    world.check(world.core.tick(world.now));
  }
  const auto status = nlohmann::json::parse(world.core.status_json(world.now));
  auto osts = status["osts_leaving"].get<std::uint64_t>();
  for (const auto& job : status["jobs"]) osts += job["osts"].get<std::uint64_t>();
  fuzz::must(status["osts_granted"] == osts, "what is granted is what jobs and ranks of ended ones hold");
  fuzz::must(status["jobs_total"] == status["jobs"].size(), "every job is counted");
  return 0;
}
