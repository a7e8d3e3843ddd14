// Checks each field of a message between two members of a group without a tree.
#include "wire/peer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "wire/samples.hpp"

namespace sumac::wire {
namespace {

constexpr std::uint32_t kPayloadMax = 4096;

TEST(Peer, EverySampleIsDecodedAndComesBackAsItWas) {
  for (const auto& sample : peer_samples()) {
    SCOPED_TRACE(sample.name);
    const auto head = std::span(sample.bytes).first<kPeerHeaderBytes>();
    PeerHeader h;
    ASSERT_EQ(decode_peer(head, sample.bytes.size() - head.size(), kPayloadMax, h), Errc::ok);
    std::array<std::byte, kPeerHeaderBytes> again;
    store(again.data(), h);
    EXPECT_TRUE(std::ranges::equal(again, head));
  }
}

TEST(Peer, EachWrongFieldIsRefusedWithItsName) {
  const struct {
    const char* name;
    std::function<void(PeerHeader&)> spoil;
    std::size_t payload;
  } rows[] = {
      {"magic", [](PeerHeader& h) { h.magic = 0; }, 24},
      {"version", [](PeerHeader& h) { h.version = 2; }, 24},
      {"kind", [](PeerHeader& h) { h.kind = PeerKind{16}; }, 24},
      {"kind", [](PeerHeader& h) { h.kind = PeerKind{0}; }, 24},
      {"payload_bytes", [](PeerHeader&) {}, 23},
      {"payload", [](PeerHeader& h) { h.payload_bytes = kPayloadMax + 1; }, kPayloadMax + 1},
      {"payload_bytes", [](PeerHeader& h) { h.kind = PeerKind::ready; }, 24},
      {"reserved", [](PeerHeader& h) { h.reserved = 1; }, 24},
      {"reserved", [](PeerHeader& h) { h.reserved2 = 1; }, 24},
      {"op", [](PeerHeader& h) { h.terms.op = Op{13}; }, 24},
      {"dtype", [](PeerHeader& h) { h.terms.dtype = Dtype{13}; }, 24},
      {"tag", [](PeerHeader& h) { h.terms.tag = Dtype{200}; }, 24},
      {"direct", [](PeerHeader& h) { h.terms.direct = 2; }, 24},
      {"ask", [](PeerHeader& h) { h.kind = PeerKind::ask, h.payload_bytes = 0, h.index = 3; }, 0},
      {"take", [](PeerHeader& h) { h.kind = PeerKind::take, h.payload_bytes = 0, h.index = 3; }, 0},
      {"payload_bytes", [](PeerHeader& h) { h.kind = PeerKind::message, h.payload_bytes = 15; }, 15},
      {"payload_bytes", [](PeerHeader& h) { h.kind = PeerKind::offer; }, 24},
      {"payload", [](PeerHeader& h) { h.kind = PeerKind::part, h.payload_bytes = kPayloadMax + 1; }, kPayloadMax + 1},
      {"index", [](PeerHeader& h) { h.kind = PeerKind::message, h.index = 1; }, 24},
      {"names an operation", [](PeerHeader& h) { h.kind = PeerKind::part, h.terms.root = 1; }, 24},
      {"names an operation", [](PeerHeader& h) { h.kind = PeerKind::tell, h.payload_bytes = 0, h.terms = {}; }, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    PeerHeader h;
    h.payload_bytes = 24;
    h.sequence = 1;
    ASSERT_EQ(flaw(h, 24, kPayloadMax), nullptr);
    row.spoil(h);
    const char* what = flaw(h, row.payload, kPayloadMax);
    ASSERT_NE(what, nullptr);
    EXPECT_NE(std::string_view(what).find(row.name), std::string_view::npos) << what;
  }
}

TEST(Peer, TheBodyOfAMessageIsChecked) {
  EXPECT_EQ(flaw(MessageBody{.bytes = 8, .tag = 3}, PeerKind::message, 24), nullptr);
  EXPECT_EQ(flaw(MessageBody{.bytes = 0}, PeerKind::message, 16), nullptr);
  EXPECT_EQ(flaw(MessageBody{.bytes = 1u << 30}, PeerKind::offer, 16), nullptr);
  EXPECT_NE(flaw(MessageBody{.bytes = 9}, PeerKind::message, 24), nullptr);
  EXPECT_NE(flaw(MessageBody{.bytes = 8, .reserved = 1}, PeerKind::message, 24), nullptr);
  EXPECT_NE(flaw(MessageBody{.bytes = 8, .reserved = 1}, PeerKind::offer, 16), nullptr);
}

}  // namespace
}  // namespace sumac::wire
