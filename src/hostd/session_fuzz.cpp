// Feeds any bytes as messages from a client and from the manager: sharpd must not break or send a message that the
// library's decoder would refuse, and every job that it holds must have been granted.
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "hostd/session.hpp"
#include "hostd/uplink.hpp"
#include "wire/host_codec.hpp"

namespace {

using namespace sumac;
using namespace sumac::hostd;
using fuzz::must;

struct World {
  Ticket last = 0;
  Session session{Peer{.pid = 5, .uid = 1000, .gid = 1000}, "h1", [this] { return ++last; }};
  Uplink uplink{{.host = "h1", .manager = "am", .life = 9}};
  Time now = Time{} + Seconds(10);
  bool over = false;

  void run(Actions actions) {
    for (auto& action : actions) {
      if (const auto* to = std::get_if<ToClient>(&action))
        must(wire::flaw_of_host_message(wire::encoded(to->message)) == nullptr, "what is sent is well formed");
      if (const auto* begin = std::get_if<BeginJob>(&action)) {
        must(begin->begin.uid() == 1000, "whose it is the kernel says");
        run(uplink.begin(begin->ticket, begin->begin, now));
      }
      if (const auto* end = std::get_if<EndJob>(&action)) run(uplink.end(end->ticket, now));
      if (std::holds_alternative<Offence>(action)) over = true;
    }
  }
  void run(UplinkActions actions) {
    for (auto& action : actions)
      if (const auto* answer = std::get_if<hostd::Answer>(&action))
        run(answer->lost ? session.manager_lost(answer->ticket, answer->why)
                         : session.answered(answer->ticket, answer->down));
  }
};

}  // namespace

SUMAC_FUZZ(session) {
  fuzz::Input in(data, size);
  World world;
  while (!in.empty() && !world.over) {
    const auto what = in.byte();
    const auto bytes = in.bytes(in.word() % (wire::kHostMessageBytes + 1));
    switch (what % 5) {
      case 0:
      case 1: {
        // Short messages are padded; only messages that the decoder accepts reach a session.
        std::array<std::byte, wire::kHostMessageBytes> frame{};
        std::memcpy(frame.data(), bytes.data(), bytes.size());
        wire::HostMessage message;
        if (wire::decode(frame, message) == Errc::ok) world.run(world.session.received(message));
        break;
      }
      case 2:
      case 3: {
        control::v1::HostDown down;
        (void)down.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()));
        world.run(world.uplink.heard(down, world.now));
        break;
      }
      default:
        world.run(world.uplink.stream_over(Error{(what & 0x80) != 0 ? Errc::lost : Errc::denied, "over"}, world.now));
    }
    if ((what & 0x40) != 0) world.now += Millis(700);
    world.run(world.uplink.tick(world.now));
  }
  must(world.session.held().size() <= kJobsPerClientMax, "a client holds so many jobs at most");
  return 0;
}
