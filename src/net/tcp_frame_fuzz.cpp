// Feeds any bytes as a tcp stream. The input is a script: its first bytes decide how the stream is cut into reads and
// whether a good greeting comes first. Blocks follow, each either a well-formed frame of a length that the fuzzer picks
// (perhaps with a wrong length in its header) or raw bytes. So the script gets past magic and greeting by itself and
// explores lengths, order and cuts.
//
// However the stream is cut, the same frames must come out: also with reads directly into the target, and with messages
// that are received in chosen memory, taken away from there again, or expected before they arrive. No frame may be
// longer than the limit; nothing behind a flaw may be accepted; nothing may leak from the pool; nothing may be written
// outside of the chosen memory.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/fuzz_target.hpp"
#include "net/tcp_frame.hpp"

namespace sumac::net {
namespace {

inline constexpr std::size_t kMessageMax = 4096;

void must(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

struct Script {
  std::span<const std::byte> in;
  std::uint8_t byte() {
    if (in.empty()) return 0;
    const auto value = std::to_integer<std::uint8_t>(in[0]);
    in = in.subspan(1);
    return value;
  }
  std::uint32_t word() { return static_cast<std::uint32_t>(byte()) | static_cast<std::uint32_t>(byte()) << 8; }
};

void put(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

std::vector<std::byte> stream_of(Script& script) {
  std::vector<std::byte> stream;
  const std::uint8_t start = script.byte();
  if ((start & 3) != 0)
    put(stream, encode_greeting((start & 3) == 1 ? FrameType::welcome : FrameType::hello, script.word()));
  while (!script.in.empty() && stream.size() < (1u << 16)) {
    const std::uint8_t what = script.byte();
    if (what < 64) {  // Small values of `what` mean raw bytes.
      const auto raw = script.in.first(std::min<std::size_t>(what, script.in.size()));
      put(stream, raw);
      script.in = script.in.subspan(raw.size());
      continue;
    }
    const auto type = static_cast<FrameType>(what & 7);
    const std::uint32_t claimed = (what & 8) != 0 ? script.word() << 8 : script.word() % (kMessageMax + 64);
    const std::size_t real = (what & 16) != 0 ? script.word() % (kMessageMax + 64) : claimed;
    put(stream, encode_frame_header(type, claimed));
    stream.insert(stream.end(), std::min<std::size_t>(real, 2 * kMessageMax), static_cast<std::byte>(what));
  }
  return stream;
}

inline constexpr std::size_t kPlaceFrom = 200;

/// A receiver that has memory for some messages, and expects that the next one is like the last.
struct Places {
  std::vector<std::byte> memory = std::vector<std::byte>(kMessageMax + 2, kMargin);
  std::array<std::byte, kPlaceHead> last_head{};
  std::size_t last_bytes = 0;
  unsigned asked = 0;
  static constexpr std::byte kMargin{0xEE};

  std::span<std::byte> place(std::size_t bytes) { return std::span(memory).subspan(1, bytes); }
  void check(std::size_t bytes) {
    must(memory[0] == kMargin && memory[1 + bytes] == kMargin, "nothing is written outside of a place");
    std::fill(memory.begin(), memory.end(), kMargin);
  }
};

/// Appends a message's length and bytes, wherever they lie.
void say(std::string& said, const Frame& frame, Places* places) {
  const std::size_t bytes = frame.placed ? places->last_bytes : frame.content.size();
  said += std::to_string(bytes) + " ";
  for (const std::byte b : frame.content.bytes()) said += static_cast<char>(b);
  if (!frame.placed) return;
  for (const std::byte b : places->place(bytes - kPlaceHead)) said += static_cast<char>(b);
  places->check(bytes - kPlaceHead);
}

/// Returns everything that the reader reported, as text. `cuts` picks the size of each read. `placed` uses target()
/// when it is not empty. `places` may be null; otherwise it provides memory for messages.
std::string transcript(std::span<const std::byte> stream, std::span<const std::byte> cuts, bool placed,
                       Places* places = nullptr) {
  BufferPool pool(1u << 20);
  std::string said;
  {
    FrameReader reader(pool, FrameType::hello, kMessageMax, places != nullptr ? kPlaceFrom : 0);
    std::size_t at = 0, cut = 0;
    while (at < stream.size()) {
      const std::size_t want =
          cuts.empty() ? stream.size() : 1 + std::to_integer<std::size_t>(cuts[cut++ % cuts.size()]);
      std::span<const std::byte> in = stream.subspan(at, std::min(want, stream.size() - at));
      at += in.size();
      std::vector<std::byte> spoilt;
      if (places != nullptr && reader.places() && reader.between_frames() && places->last_bytes > kPlaceHead) {
        reader.expect(places->last_head, places->place(places->last_bytes - kPlaceHead));
        const auto to = reader.expected();
        const std::size_t n = in.size() < kExpectedHead ? 0 : std::min(in.size() - kExpectedHead, to.size());
        if (n > 0) {
          std::copy_n(in.begin() + kExpectedHead, n, to.begin());
          if (reader.meets(in.first<kExpectedHead>())) {
            reader.advance(n);
            in = in.subspan(kExpectedHead + n);
          } else {  // The input is rebuilt as it was received, because the middle part lies in the wrong memory.
            spoilt.assign(in.begin(), in.end());
            std::copy_n(to.begin(), n, spoilt.begin() + kExpectedHead);
            places->check(to.size());
            in = spoilt;
          }
        }
        reader.expect_nothing();
      }
      if (placed && !reader.target().empty()) {
        const auto target = reader.target();
        const std::size_t n = std::min(target.size(), in.size());
        std::copy_n(in.begin(), n, target.begin());
        reader.advance(n);
        in = in.subspan(n);
      }
      for (bool go = true; go;) {
        Frame frame;
        switch (reader.feed(in, frame)) {
          case FrameReader::Got::more:
            must(in.empty(), "all input is used up");
            if (places != nullptr && places->asked % 4 == 1) {
              must(reader.displace(), "the pool is large enough");
              std::fill(places->memory.begin(), places->memory.end(), Places::kMargin);
            }
            go = false;
            break;
          case FrameReader::Got::frame:
            must(frame.content.size() <= kMessageMax, "no frame over the limit");
            said += std::to_string(static_cast<int>(frame.type)) + ":";
            say(said, frame, places);
            break;
          case FrameReader::Got::head: {
            must(places != nullptr && reader.length() >= kPlaceFrom, "only long messages ask");
            std::ranges::copy(reader.head(), places->last_head.begin());
            places->last_bytes = reader.length();
            const bool has_place = ++places->asked % 3 != 0;
            reader.place(has_place ? places->place(reader.length() - kPlaceHead) : std::span<std::byte>{});
            break;
          }
          case FrameReader::Got::no_buffer: must(false, "the pool is large enough"); break;
          case FrameReader::Got::malformed: {
            must(reader.flaw() != nullptr && reader.target().empty(), "a flaw has words and takes nothing more");
            Frame never;
            must(reader.feed(in, never) == FrameReader::Got::malformed, "a flaw is final");
            return said + reader.flaw();
          }
        }
      }
    }
    said += reader.between_frames() ? "end" : "truncated " + reader.position();
  }
  must(pool.stats().buffers_in_use == 0, "no buffer leaks");
  return said;
}

}  // namespace
}  // namespace sumac::net

SUMAC_FUZZ(tcp_frame) {
  using namespace sumac::net;
  Script script{{reinterpret_cast<const std::byte*>(data), size}};
  const std::size_t count = script.byte() % 8;
  const auto cuts = script.in.first(std::min(count, script.in.size()));
  script.in = script.in.subspan(cuts.size());
  const auto stream = stream_of(script);
  const std::string whole = transcript(stream, {}, false);
  must(transcript(stream, cuts, false) == whole, "cuts do not matter");
  must(transcript(stream, cuts, true) == whole, "reading in place does not matter");
  Places some, more;
  must(transcript(stream, cuts, true, &some) == whole, "where messages are received does not matter");
  must(transcript(stream, {}, true, &more) == whole, "and not how");
  return 0;
}
