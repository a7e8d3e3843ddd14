#include "wire/host_codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "wire/samples.hpp"

namespace sumac::wire {
namespace {

HostMessage sample(std::string_view name) {
  for (const auto& s : host_samples())
    if (s.name == name) {
      HostMessage message;
      EXPECT_EQ(decode(s.bytes, message), Errc::ok) << flaw_of_host_message(s.bytes);
      return message;
    }
  throw std::out_of_range(std::string(name));
}

TEST(HostCodec, EverySampleIsBelievedAndComesBackAsItWas) {
  for (const auto& s : host_samples()) {
    SCOPED_TRACE(s.name);
    auto message = decode_host_message(s.bytes);
    ASSERT_TRUE(message) << message.error().context;
    EXPECT_TRUE(std::ranges::equal(encoded(*message), s.bytes));
    EXPECT_TRUE(describe(message->header).starts_with(to_string(message->header.kind)));
    EXPECT_EQ(flaw_of_host_message(std::span(s.bytes).first(1023)), std::string("a message has 1024 bytes"));
    auto stuffed = s.bytes;
    stuffed.back() = std::byte{1};
    EXPECT_STREQ(flaw_of_host_message(stuffed), "bytes after the body are not zero");
  }
}

template <Message Body>
std::function<void(HostMessage&)> body(const std::function<void(Body&)>& change) {
  return [change](HostMessage& message) {
    Body value = host_entry<Body>(message);
    change(value);
    store(message.body.data(), value);
  };
}

TEST(HostCodec, EachFieldIsChecked) {
  const struct {
    const char* name;
    const char* sample;
    std::function<void(HostMessage&)> change;
    const char* flaw;
  } rows[] = {
      {"magic", "host-attach", [](auto& m) { m.header.magic = 1; }, "magic"},
      {"version", "host-attach", [](auto& m) { m.header.version = kHostVersion + 1; }, "version"},
      {"kind 0", "host-job_end", [](auto& m) { m.header.kind = static_cast<HostKind>(0); }, "kind"},
      {"kind 16", "host-job_end", [](auto& m) { m.header.kind = static_cast<HostKind>(16); }, "kind"},
      {"a list where there is none", "host-attach", [](auto& m) { m.header.total = 1; }, "list"},
      {"an empty list message", "host-job_host", [](auto& m) { m.header.entries = 0; }, "entries"},
      {"more than fits", "host-job_leaf", [](auto& m) { m.header.entries = 251; }, "entries"},
      {"past total", "host-job_node", [](auto& m) { m.header.index = 3; }, "total"},
      {"index near 2^32 does not wrap", "host-job_node", [](auto& m) { m.header.index = 0xFFFFFFFF; }, "total"},
      {"a list too long to keep", "host-job_node", [](auto& m) { m.header.total = kListMax + 1; }, "total"},
      {"a job before there is one", "host-attach", [](auto& m) { m.header.job_id = JobId{1}; }, "job_id"},
      {"a begin without a job", "host-job_begin", [](auto& m) { m.header.job_id = JobId{0}; }, "job_id"},
      {"a grant without a job", "host-job_granted", [](auto& m) { m.header.job_id = JobId{0}; }, "job_id"},
      {"a member of no job", "host-member", [](auto& m) { m.header.job_id = JobId{0}; }, "job_id"},
      {"a death with a key", "host-rank_died", body<MemberBody>([](auto& b) { b.job_key[3] = 1; }), "rank_died"},
      {"a member with more", "host-member", body<MemberBody>([](auto& b) { b.flags = 2; }), "flags"},
      {"rank outside", "host-attach", body<AttachBody>([](auto& b) { b.world_rank = WorldRank{16}; }), "world_rank"},
      {"local rank outside", "host-attach", body<AttachBody>([](auto& b) { b.local_rank = 16; }), "local_rank"},
      {"empty name", "host-attached", body<AttachedBody>([](auto& b) { b.host.fill(0); }), "host"},
      {"unclosed name", "host-attached", body<AttachedBody>([](auto& b) { b.host.fill('x'); }), "host"},
      {"name with a line break", "host-attached", body<AttachedBody>([](auto& b) { b.host[0] = '\n'; }), "host"},
      {"bytes behind a name", "host-attached", body<AttachedBody>([](auto& b) { b.host[40] = 'x'; }), "host"},
      {"a default of ports unclosed", "host-attached", body<AttachedBody>([](auto& b) { b.devices.fill('x'); }),
       "devices"},
      {"ports unclosed", "host-job_begin", body<JobBeginBody>([](auto& b) { b.devices.fill('x'); }), "devices"},
      {"no ranks", "host-job_begin", body<JobBeginBody>([](auto& b) { b.world_size = 0; }), "world_size"},
      {"more hosts than ranks", "host-job_begin", body<JobBeginBody>([](auto& b) { b.host_count = 17; }), "more hosts"},
      {"a request that chooses the window", "host-job_begin",
       body<JobBeginBody>([](auto& b) { b.quota.stream_window = 1; }), "stream_window"},
      {"no OSTs", "host-job_granted", body<JobGrantedBody>([](auto& b) { b.quota.osts = 0; }), "OSTs"},
      {"payload", "host-job_granted", body<JobGrantedBody>([](auto& b) { b.quota.payload_per_ost = 1u << 21; }),
       "payload"},
      {"no tree", "host-job_granted", body<JobGrantedBody>([](auto& b) { b.tree_count = 0; }), "tree_count"},
      {"too many trees", "host-job_granted", body<JobGrantedBody>([](auto& b) { b.tree_count = kTreesMax + 1; }),
       "tree_count"},
      {"tree index", "host-job_tree", body<JobTreeBody>([](auto& b) { b.tree_index = kTreesMax; }), "tree_index"},
      {"nodes", "host-job_tree", body<JobTreeBody>([](auto& b) { b.node_count = 0; }), "node_count"},
      {"nodes on hosts", "host-job_tree", body<JobTreeBody>([](auto& b) { b.member_nodes = 4; }), "member"},
      {"tree's reserved", "host-job_tree", body<JobTreeBody>([](auto& b) { b.reserved = 1; }), "reserved"},
      {"chunk", "host-job_granted", body<JobGrantedBody>([](auto& b) { b.quota.chunk_bytes = 1u << 21; }), "chunk"},
      {"an unknown flag", "host-job_begin", body<JobBeginBody>([](auto& b) { b.flags = 2; }), "bit without a meaning"},
      {"address", "host-job_node", body<JobNodeEntry>([](auto& b) { b.address.fill('x'); }), "address"},
      {"node name", "host-job_node", body<JobNodeEntry>([](auto& b) { b.name[0] = 0; }), "name"},
      {"wanted's reserved", "host-trees_wanted", body<TreesWantedBody>([](auto& b) { b.reserved = 1; }), "reserved"},
      {"status", "host-job_refused", body<JobRefusedBody>([](auto& b) { b.status = 0; }), "status"},
      {"refusal's text", "host-job_refused", body<JobRefusedBody>([](auto& b) { b.text.fill('x'); }), "text"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    HostMessage message = sample(row.sample);
    row.change(message);
    const auto bytes = encoded(message);
    const auto result = decode_host_message(bytes);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().context.find(row.flaw), std::string::npos) << result.error().context;
  }
}

TEST(HostCodec, TextFitsOrIsRefused) {
  std::array<char, 4> field{'x', 'x', 'x', 'x'};
  EXPECT_TRUE(put_text(field, "abc"));
  EXPECT_EQ(get_text(field), "abc");
  EXPECT_FALSE(put_text(field, "abcd"));
  EXPECT_FALSE(put_text(field, std::string_view("a\0b", 3)));
  EXPECT_EQ(get_text(field), "abc") << "a refused text changes nothing";
}

}  // namespace
}  // namespace sumac::wire
