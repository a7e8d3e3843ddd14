// Datagrams may come from any process: every single changed bit, every length and every other key must be detected.
#include <gtest/gtest.h>

#include <algorithm>

#include "wire/datagram.hpp"
#include "wire/samples.hpp"

namespace sumac::wire {
namespace {

std::vector<std::byte> sample(std::string_view name) {
  const auto all = datagram_samples();
  return std::ranges::find(all, name, &Sample::name)->bytes;
}

/// Makes the result of a whole allreduce of `elements` floats.
std::vector<std::byte> result(std::uint32_t elements, std::uint16_t flags = kFlagFirst | kFlagLast) {
  AggHeader h;
  h.kind = AggKind::result;
  h.group_id = GroupId{0x00010007};
  h.coll = Coll::allreduce;
  h.op = Op::sum;
  h.dtype = Dtype::float32;
  h.flags = flags;
  h.count = elements;
  h.payload_bytes = elements * 4;
  std::vector<std::byte> bytes(kAggHeaderBytes + h.payload_bytes + kTagBytes);
  store(bytes.data(), h);
  seal_datagram(bytes, datagram_key());
  return bytes;
}

TEST(Datagram, a_result_comes_back_as_it_was) {
  const auto bytes = result(2);
  AggHeader h;
  ASSERT_EQ(open_datagram(bytes, datagram_key(), h), Errc::ok);
  EXPECT_EQ(h.payload_bytes, 8u);
  EXPECT_EQ(h.group_id, GroupId{0x00010007});
}

TEST(Datagram, every_changed_bit_is_found_out) {
  auto bytes = result(2);
  AggHeader h;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_EQ(open_datagram(bytes, datagram_key(), h), Errc::denied) << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
  EXPECT_EQ(open_datagram(bytes, datagram_key(), h), Errc::ok);
}

TEST(Datagram, every_other_length_and_key_is_found_out) {
  const auto bytes = result(2);
  AggHeader h;
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(open_datagram(std::span(bytes).first(size), datagram_key(), h), Errc::ok) << size;
  auto longer = bytes;
  longer.push_back({});
  EXPECT_EQ(open_datagram(longer, datagram_key(), h), Errc::denied);
  for (std::size_t i = 0; i < sizeof(Secret); ++i) {
    Secret other = datagram_key();
    other[i] ^= 1;
    EXPECT_EQ(open_datagram(bytes, other, h), Errc::denied);
  }
}

TEST(Datagram, only_results_of_whole_small_operations_come_so_whoever_sealed_them) {
  AggHeader h;
  EXPECT_EQ(open_datagram(sample("datagram-whole"), datagram_key(), h), Errc::ok);
  EXPECT_EQ(open_datagram(sample("datagram-result"), datagram_key(), h), Errc::invalid) << "a later fragment";
  EXPECT_EQ(open_datagram(sample("datagram-verdict"), datagram_key(), h), Errc::invalid);
  EXPECT_EQ(open_datagram(sample("datagram-result-lock-denied"), datagram_key(), h), Errc::invalid);
  EXPECT_EQ(open_datagram(result(2, kFlagFirst | kFlagLast | kFlagStreaming), datagram_key(), h), Errc::invalid);
  EXPECT_EQ(open_datagram(result(256), datagram_key(), h), Errc::ok);
  EXPECT_EQ(open_datagram(result(257), datagram_key(), h), Errc::invalid);
}

TEST(Datagram, what_may_go_by_multicast) {
  AggHeader h;
  h.flags = kFlagFirst | kFlagLast;
  for (const auto coll :
       {Coll::barrier, Coll::allreduce, Coll::reduce, Coll::bcast, Coll::reduce_scatter, Coll::allgather}) {
    h.coll = coll;
    EXPECT_TRUE(fits_multicast(h, kMulticastPayloadMax));
    EXPECT_FALSE(fits_multicast(h, kMulticastPayloadMax + 1));
  }
  for (const auto coll : {Coll::none, Coll::leave, Coll::refusal, Coll::lock, Coll::unlock}) {
    h.coll = coll;
    EXPECT_FALSE(fits_multicast(h, 0));
  }
}

}  // namespace
}  // namespace sumac::wire
