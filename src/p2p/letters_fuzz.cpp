// The fuzzer's bytes become letters of two members to a third one, which takes some, keeps some, sends some and withdraws
// some. Whatever arrives, nothing is written outside of the letters' memory, none ends twice, what comes early is bounded,
// and at the end every letter has ended.
#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "p2p/fuzz_carrier.hpp"

namespace {

using namespace sumac;
using namespace sumac::p2p;

constexpr std::uint32_t kSize = 3, kGroup = 7;
constexpr std::uint64_t kEagerMax = 128, kPartMax = 300;
constexpr std::size_t kMargin = 64, kMost = 1500;

struct Letter {
  std::vector<std::byte> memory;
  std::size_t bytes = 0;
  bool is_over = false;
};

class User final : public LetterEvents {
 public:
  explicit User(fuzz::Input& in) : in_(in) {}
  Letter& make(std::size_t bytes) {
    return letters.emplace_back(Letter{std::vector<std::byte>(bytes + 2 * kMargin, std::byte{0x33}), bytes});
  }
  void end(void* cookie) {
    auto& letter = *static_cast<Letter*>(cookie);
    fuzz::must(!letter.is_over, "a letter ends once");
    letter.is_over = true;
  }

  std::deque<Letter> letters;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> offers;  ///< Those to be answered: member and number.
  std::vector<std::uint64_t> sizes;
  std::array<std::uint32_t, kSize> kept{}, extended{};

 private:
  bool on_letter(std::uint32_t peer, std::uint32_t, std::span<const std::byte> bytes) override {
    fuzz::must(bytes.size() + sizeof(wire::LetterBody) <= kEagerMax, "a short letter is short");
    const bool is_kept = in_.byte() % 2 == 0;
    kept[peer] += is_kept ? 1 : 0;
    return !is_kept;
  }
  Answer on_offer(std::uint32_t peer, std::uint32_t number, std::uint32_t, std::uint64_t bytes) override {
    const auto what = in_.byte() % 3;
    if (what == 0 || bytes > kMost) return {.what = Answer::What::drop};
    if (what == 1) {
      offers.emplace_back(peer, number);
      sizes.push_back(bytes);
      return {};
    }
    Letter& letter = make(bytes);
    return {Answer::What::take, letter.memory.data() + kMargin, &letter};
  }
  void on_received(void* cookie) override { end(cookie); }
  void on_sent(void* cookie) override { end(cookie); }
  void on_note(std::uint32_t, std::uint32_t, std::uint32_t) override {}
  void on_left(std::uint32_t) override { has_left = true; }
  void on_failed(const Error&) override { has_failed = true; }

 public:
  bool has_left = false, has_failed = false;

 private:
  fuzz::Input& in_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  FuzzCarrier carrier;
  BufferPool pool(64u << 20);
  User user(in);
  Engine engine(
      {.rank = 0, .size = kSize, .group = kGroup, .eager_max = kEagerMax, .letters = &user, .part_max = kPartMax},
      carrier, pool);
  Letters& letters = *engine.letters();
  std::array<std::uint32_t, kSize> next{};
  while (!in.empty() && !engine.failure()) {
    const auto what = in.byte();
    const std::uint32_t peer = 1 + (what & 1);
    switch ((what >> 1) & 7) {
      case 0: {
        const std::size_t bytes = in.byte() * 6;
        Letter& letter = user.make(bytes);
        if (!letters.post(peer, in.byte(), std::span(letter.memory).subspan(kMargin, bytes), &letter))
          letter.is_over = true;
        continue;
      }
      case 1: {
        if (user.offers.empty()) continue;
        const auto [from, number] = user.offers.back();
        Letter& letter = user.make(user.sizes.back());
        user.offers.pop_back();
        user.sizes.pop_back();
        if (!letters.take(from, number, letter.memory.data() + kMargin, &letter)) letter.is_over = true;
        continue;
      }
      case 2:
        if (!user.letters.empty()) {
          Letter& letter = user.letters[in.byte() % user.letters.size()];
          const bool is_known = letters.withdraw(&letter);
          fuzz::must(is_known != letter.is_over || user.has_left, "letters under way are known");
          letter.is_over = true;
        }
        continue;
      case 3:
        if (letters.is_stuck(peer)) letters.extend(peer), ++user.extended[peer];
        engine.on_writable(peer);
        continue;
      default: break;
    }
    wire::PeerHeader h;
    h.group = kGroup;
    h.kind = static_cast<wire::PeerKind>(9 + in.byte() % 7);
    if (h.kind == wire::PeerKind::leave && in.byte() != 0) h.kind = wire::PeerKind::part;
    const auto some = in.byte();
    wire::LetterBody body{
        .bytes = std::uint64_t{in.byte()} * (some & 7u), .tag = some, .reserved = in.byte() == 255 ? 1u : 0};
    std::size_t payload = 0;
    h.sequence = h.kind == wire::PeerKind::leave ? 0 : some & 15;
    if (h.kind == wire::PeerKind::letter || h.kind == wire::PeerKind::offer) {
      payload = sizeof body + (h.kind == wire::PeerKind::letter ? body.bytes : 0);
      if (some != 0) h.sequence = next[peer]++;
    }
    if (h.kind == wire::PeerKind::take || h.kind == wire::PeerKind::note) h.index = 1 + (some >> 7);
    if (h.kind == wire::PeerKind::part) {
      h.index = some >> 4;
      payload = (what & 0x80) != 0 ? kPartMax : body.bytes;
    }
    h.payload_bytes = static_cast<std::uint32_t>(payload);
    std::vector<std::byte> message(wire::kPeerHeaderBytes + payload, std::byte{0x11});
    wire::store(message.data(), h);
    if (payload >= sizeof body) wire::store(message.data() + wire::kPeerHeaderBytes, body);
    arrive(engine, pool, peer, message, kEagerMax);
    engine.settle({});
    fuzz::must(user.kept[peer] <= kLettersAhead * (1 + user.extended[peer]), "what comes early is bounded");
  }
  engine.fail({Errc::lost, "the end"});
  fuzz::must(user.has_failed, "the user was told");
  for (Letter& letter : user.letters) {
    fuzz::must(!letters.withdraw(&letter), "no letter is under way behind the end");
    for (std::size_t i = 0; i < letter.memory.size(); ++i)
      if (i < kMargin || i >= kMargin + letter.bytes)
        fuzz::must(letter.memory[i] == std::byte{0x33}, "nothing is written outside");
  }
  return 0;
}
