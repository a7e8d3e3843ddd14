#include "wire/agg_codec.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <functional>

#include "base/bytes.hpp"
#include "wire/samples.hpp"

namespace sumac::wire {
namespace {

AggHeader header_of(const Sample& sample) {
  AggHeader h;
  load(h, sample.bytes.data());
  return h;
}

const Sample& sample(std::string_view name) {
  static const auto kAll = agg_samples();
  for (const auto& s : kAll)
    if (s.name == name) return s;
  throw std::out_of_range(std::string(name));
}

/// Returns a sample with a changed header; its payload keeps its length.
std::vector<std::byte> changed(std::string_view name, const std::function<void(AggHeader&)>& change) {
  auto bytes = sample(name).bytes;
  AggHeader h = header_of(sample(name));
  change(h);
  store(bytes.data(), h);
  return bytes;
}

TEST(AggCodec, EverySampleIsBelievedAndComesBackAsItWas) {
  for (const auto& s : agg_samples()) {
    SCOPED_TRACE(s.name);
    AggHeader h;
    ASSERT_EQ(decode(s.bytes, kPayloadMax, h), Errc::ok);
    auto again = decode_agg_header(s.bytes, kPayloadMax);
    ASSERT_TRUE(again) << again.error().context;
    const auto head = encoded(*again);
    EXPECT_TRUE(std::equal(head.begin(), head.end(), s.bytes.begin()));
    EXPECT_TRUE(describe(h).starts_with(to_string(h.kind)));
  }
}

TEST(AggCodec, TheManagersWordsAreOneLineThatIsCutToItsPlace) {
  EXPECT_EQ(why_of(over_by_manager(NodeId{1}, "node a stays away\nstart again")), "node a stays away start again");
  EXPECT_EQ(why_of(over_by_manager(NodeId{1}, std::string(1000, 'x'))), std::string(sizeof(LostNode) - 1, 'x'));
  EXPECT_EQ(why_of(over_by_manager(NodeId{1}, "")), "");
  auto body = over_by_manager(NodeId{1}, "x");
  EXPECT_EQ(flaw(body), nullptr);
  body.lost.name[0] = '\n';
  EXPECT_STREQ(flaw(body), "over: its text has a control character");
  body.lost.name[0] = 'x';
  body.lost.is_parent = 1;
  EXPECT_STREQ(flaw(body), "over: a byte after its text is not zero");
  std::array<char, sizeof body.lost> full;
  full.fill('x');
  body.lost = std::bit_cast<LostNode>(full);
  EXPECT_STREQ(flaw(body), "over: its text is not closed by a zero");
}

TEST(AggCodec, NamesAreWordsThatALogCanShow) {
  const std::string long_enough(63, 'x');
  for (const std::string& good : {std::string("h3"), std::string("an-leaf1"), std::string("N_7.rack:2"), long_enough}) {
    const auto body = name_body(good);
    ASSERT_TRUE(body) << good;
    EXPECT_EQ(text_of(*body), good);
  }
  for (const std::string& bad : {std::string(), std::string("a b"), std::string("h3\n"), std::string("h\0x", 3),
                                 std::string("\xC3\xA4"), long_enough + "y"})
    EXPECT_FALSE(name_body(bad)) << bad;
  NameBody behind = *name_body("h3");
  behind.text[10] = 'x';
  EXPECT_NE(flaw(behind), nullptr);
  behind.text.fill('x');
  EXPECT_NE(flaw(behind), nullptr);
}

TEST(AggCodec, ATruncatedOrLongerMessageIsNotBelieved) {
  for (const auto& s : agg_samples()) {
    SCOPED_TRACE(s.name);
    AggHeader h;
    for (std::size_t length = 0; length < s.bytes.size(); ++length) {
      ASSERT_EQ(decode(std::span(s.bytes).first(length), kPayloadMax, h), Errc::invalid) << length;
      ASSERT_FALSE(decode_agg_header(std::span(s.bytes).first(length), kPayloadMax));
    }
    auto longer = s.bytes;
    longer.push_back(std::byte{0});
    EXPECT_EQ(decode(longer, kPayloadMax, h), Errc::invalid);
  }
}

TEST(AggCodec, EachHeaderFieldIsChecked) {
  const struct {
    const char* name;
    const char* sample;
    std::function<void(AggHeader&)> change;
    const char* flaw;  // null: the message is legal
  } rows[] = {
      {"magic", "contribute", [](auto& h) { h.magic ^= 1; }, "magic"},
      {"version 0", "contribute", [](auto& h) { h.version = 0; }, "version is not spoken here"},
      {"a newer version", "contribute", [](auto& h) { h.version = 2; }, "version is not spoken here"},
      {"a join of a newer version", "join", [](auto& h) { h.version = 2; }, "version is not spoken here"},
      {"only who contributes listens", "result", [](auto& h) { say_listening(h, true); }, "flag listening"},
      {"welcome may come from a newer version", "welcome", [](auto& h) { h.version = 200; }, nullptr},
      {"a refused hello too", "refused-hello", [](auto& h) { h.version = 200; }, nullptr},
      {"an open that is reproducible", "open", [](auto& h) { h.flags |= kFlagReproducible; }, "flags or elements"},
      {"hello may come from a newer version", "hello", [](auto& h) { h.version = 200; }, nullptr},
      {"but not from version 0", "hello", [](auto& h) { h.version = 0; }, "version"},
      {"kind 0", "contribute", [](auto& h) { h.kind = static_cast<AggKind>(0); }, "kind is unknown"},
      {"a kind that messages do not have", "contribute", [](auto& h) { h.kind = static_cast<AggKind>(5); },
       "kind is unknown"},
      {"kind between up and down", "contribute", [](auto& h) { h.kind = static_cast<AggKind>(10); }, "kind is unknown"},
      {"a name with a group", "name", [](auto& h) { h.group_id = GroupId{1}; }, "group_id"},
      {"kind behind the last", "contribute", [](auto& h) { h.kind = static_cast<AggKind>(26); }, "kind is unknown"},
      {"a contribution without group", "contribute", [](auto& h) { h.group_id = GroupId{0}; }, "group_id"},
      {"a hello with a group", "hello", [](auto& h) { h.group_id = GroupId{1}; }, "group_id"},
      {"a join without group", "join", [](auto& h) { h.group_id = GroupId{0}; }, "group_id"},
      {"a refused open has no group", "refused", [](auto& h) { h.group_id = GroupId{0}; }, nullptr},
      {"coll none", "contribute", [](auto& h) { h.coll = Coll::none; }, "coll is unknown"},
      {"coll behind the last", "contribute", [](auto& h) { h.coll = static_cast<Coll>(12); }, "coll is unknown"},
      {"op behind null", "contribute", [](auto& h) { h.op = static_cast<Op>(13); }, "op is unknown"},
      {"dtype behind null", "contribute", [](auto& h) { h.dtype = static_cast<Dtype>(13); }, "dtype is unknown"},
      {"tag behind null", "contribute", [](auto& h) { h.tag_dtype = static_cast<Dtype>(13); }, "tag_dtype is unknown"},
      {"a reduction without op", "contribute", [](auto& h) { h.op = Op::null; }, "do not go together"},
      {"a logical and of floats", "contribute", [](auto& h) { h.op = Op::land; }, "do not go together"},
      {"a tag where there are no pairs", "contribute", [](auto& h) { h.tag_dtype = Dtype::int32; },
       "do not go together"},
      {"a pair with a float tag of another type", "contribute-pairs", [](auto& h) { h.tag_dtype = Dtype::float32; },
       "do not go together"},
      {"a bcast with an op", "contribute-bcast", [](auto& h) { h.op = Op::sum; }, "do not go together"},
      {"a barrier with a type", "contribute-barrier", [](auto& h) { h.dtype = Dtype::int8; }, "has a type"},
      {"a barrier with elements", "contribute-barrier", [](auto& h) { h.count = 1; }, "has elements"},
      {"a barrier that streams", "contribute-barrier", [](auto& h) { h.flags |= kFlagStreaming; }, "streaming"},
      {"a barrier that is reproducible", "contribute-barrier", [](auto& h) { h.flags |= kFlagReproducible; },
       "reproducible"},
      {"a reproducible product", "contribute-reproducible", [](auto& h) { h.op = Op::prod; }, nullptr},
      {"a reproducible maximum", "contribute-reproducible", [](auto& h) { h.op = Op::max; }, "no order matters"},
      {"a reproducible sum of integers", "contribute-reproducible", [](auto& h) { h.dtype = Dtype::int32; },
       "no order matters"},
      {"a reproducible bcast", "contribute-bcast", [](auto& h) { h.flags |= kFlagReproducible; }, "no order matters"},
      {"a reproducible sum of nothing", "contribute-reproducible",
       [](auto& h) {
         h.count = h.first = 0;
         h.flags |= kFlagFirst;
       },
       "no order matters"},
      {"an unknown flag", "contribute", [](auto& h) { h.flags |= kFlagsKnown + 1; }, "flags are unknown"},
      {"denied where nothing is asked", "contribute", [](auto& h) { h.flags |= kFlagDenied; }, "flag denied"},
      {"a root of an allreduce", "contribute", [](auto& h) { h.root = 1; }, "root is set"},
      {"a root of a bcast", "contribute-bcast", [](auto& h) { h.root = 1; }, nullptr},
      {"closed of a contribution", "contribute", [](auto& h) { h.closed = Sequence{1}; }, "closed is set"},
      {"closed of a contribution after datagrams", "contribute-datagrams", [](auto& h) { h.closed = Sequence{7}; },
       nullptr},
      {"datagrams of a join", "join", [](auto& h) { h.flags |= kFlagDatagrams; }, "flag datagrams"},
      {"datagrams of a group that is over", "over", [](auto& h) { h.flags |= kFlagDatagrams; }, nullptr},
      {"datagrams of a trouble", "trouble", [](auto& h) { h.flags |= kFlagDatagrams; }, nullptr},
      {"closed of a group that is over", "over",
       [](auto& h) {
         h.flags |= kFlagDatagrams;
         h.closed = Sequence{7};
       },
       "closed is set"},
      {"closed of a result", "result", [](auto& h) { h.closed = Sequence{7}; }, nullptr},
      {"closed with a body", "closed", [](auto& h) { h.payload_bytes = 8; }, "payload_bytes"},
      {"closed of no group", "closed", [](auto& h) { h.group_id = GroupId{}; }, "group_id is zero"},
      {"reserved", "contribute", [](auto& h) { h.reserved_16 = 1; }, "reserved"},
      {"a meaning", "contribute", [](auto& h) { h.meaning = 0x8005; }, nullptr},
      {"a meaning of no data", "contribute-barrier", [](auto& h) { h.meaning = 0x8005; }, "has a meaning"},
      {"a meaning of a join", "join", [](auto& h) { h.meaning = 0x8005; }, "meaning is set"},
      {"payload_bytes", "contribute", [](auto& h) { h.payload_bytes = 12; }, "payload_bytes"},
      {"half an element", "contribute",
       [](auto& h) {
         h.dtype = Dtype::float64;
         h.count = 998;
         h.op = Op::sum;
         h.first = 996;
       },
       nullptr},
      {"not whole elements", "contribute-bcast", [](auto& h) { h.dtype = Dtype::uint32; }, "whole number"},
      {"first behind the end", "contribute", [](auto& h) { h.first = 1001; }, "first lies after"},
      {"first near 2^64 does not wrap", "contribute",
       [](auto& h) {
         h.first = ~0ull - 1;
         h.count = ~0ull;
       },
       "reaches past"},
      {"one element too many", "contribute", [](auto& h) { h.first = 997; }, "reaches past"},
      {"flag last missing", "contribute", [](auto& h) { h.flags = 0; }, "flag last"},
      {"flag last too early", "contribute", [](auto& h) { h.first = 995; }, "flag last"},
      {"flag first in the middle", "contribute", [](auto& h) { h.flags |= kFlagFirst; }, "flag first"},
      {"a middle fragment has neither flag", "contribute",
       [](auto& h) {
         h.first = 100;
         h.flags = 0;
       },
       nullptr},
      {"a contribution of nobody", "contribute", [](auto& h) { h.members = 0; }, "members"},
      {"a contribution from nobody", "contribute", [](auto& h) { h.origin = kNoRank; }, "origin"},
      {"a result that names an origin", "result", [](auto& h) { h.origin = 0; }, "origin"},
      {"a control message with elements", "join", [](auto& h) { h.count = 1; }, "flags or elements"},
      {"a control message with a type", "opened", [](auto& h) { h.dtype = Dtype::int8; }, "names an operation"},
      {"a verdict with an origin", "verdict", [](auto& h) { h.origin = 1; }, "origin"},
      {"a body of the wrong kind", "over", [](auto& h) { h.kind = AggKind::join; }, "this kind's body"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto bytes = changed(row.sample, row.change);
    AggHeader h;
    const auto result = decode_agg_header(bytes, kPayloadMax);
    EXPECT_EQ(decode(bytes, kPayloadMax, h) == Errc::ok, row.flaw == nullptr);
    ASSERT_EQ(static_cast<bool>(result), row.flaw == nullptr) << (result ? "believed" : result.error().context);
    if (row.flaw != nullptr) {
      EXPECT_EQ(result.error().code, Errc::invalid);
      // The comparison uses the fault alone, since the whole text also describes the header.
      const std::string found = flaw(h, bytes.size() - kAggHeaderBytes, kPayloadMax);
      EXPECT_NE(found.find(row.flaw), std::string::npos) << found;
      EXPECT_NE(result.error().context.find(found), std::string::npos) << result.error().context;
    }
  }
}

TEST(AggCodec, DataMayBeEmptyOnlyWhereTheCollectiveSaysSo) {
  const auto empty = [](AggKind kind, Coll coll, std::uint64_t count, std::uint16_t more_flags = 0) {
    AggHeader h;
    h.kind = kind;
    h.group_id = GroupId{1};
    h.coll = coll;
    const bool reduces = coll == Coll::allreduce || coll == Coll::reduce || coll == Coll::reduce_scatter;
    h.op = reduces ? Op::sum : Op::null;
    h.dtype = Dtype::int32;
    h.flags = kFlagFirst | more_flags;
    h.count = count;
    if (kind != AggKind::result) {
      h.origin = 0;
      h.members = 1;
    }
    return flaw(h, 0, 1024);
  };
  EXPECT_EQ(empty(AggKind::contribute, Coll::allreduce, 0), nullptr) << "size 0 is an operation too";
  EXPECT_NE(empty(AggKind::contribute, Coll::allreduce, 1), nullptr);
  EXPECT_NE(empty(AggKind::result, Coll::allreduce, 1), nullptr);
  EXPECT_EQ(empty(AggKind::contribute, Coll::reduce, 1), nullptr) << "the root may keep its own part";
  EXPECT_NE(empty(AggKind::contribute, Coll::reduce, 1, kFlagStreaming), nullptr);
  EXPECT_EQ(empty(AggKind::result, Coll::reduce, 1), nullptr);
  EXPECT_EQ(empty(AggKind::contribute, Coll::bcast, 1), nullptr);
  EXPECT_EQ(empty(AggKind::result, Coll::bcast, 1), nullptr);
  EXPECT_EQ(empty(AggKind::result, Coll::reduce_scatter, 1), nullptr);
  EXPECT_EQ(empty(AggKind::result, Coll::allgather, 1), nullptr);
}

TEST(AggCodec, PayloadMaxBoundsUserDataAndNotBodies) {
  AggHeader h;
  EXPECT_EQ(decode(sample("contribute").bytes, 16, h), Errc::ok);
  EXPECT_EQ(decode(sample("contribute").bytes, 15, h), Errc::invalid);
  EXPECT_EQ(decode(sample("join").bytes, 0, h), Errc::ok);
}

/// Tests every field that a body's check reads, by setting one field at a time to a forbidden value.
template <Message Body>
void expect_flaws(std::string_view name, const std::vector<std::function<void(Body&)>>& changes) {
  const auto payload = std::span(sample(name).bytes).subspan(kAggHeaderBytes);
  Body good;
  ASSERT_EQ(decode(payload, good), Errc::ok) << name;
  EXPECT_EQ(decode(payload.first(payload.size() - 1), good), Errc::invalid);
  std::size_t number = 0;
  for (const auto& change : changes) {
    SCOPED_TRACE(fmt::format("{} change {}", name, number++));
    Body body = good;
    change(body);
    std::array<std::byte, sizeof(Body)> bytes;
    store(bytes.data(), body);
    Body out;
    EXPECT_EQ(decode(std::span<const std::byte>(bytes), out), Errc::invalid);
    const char* what = flaw(body);
    ASSERT_NE(what, nullptr);
    EXPECT_TRUE(std::string_view(what).find(':') != std::string_view::npos) << what;
  }
}

TEST(AggCodec, EachBodyFieldIsChecked) {
  expect_flaws<HelloBody>(
      "hello", {[](auto& b) { b.role = static_cast<Role>(3); }, [](auto& b) { b.job_id = JobId{0}; },
                [](auto& b) { b.role = Role::node; }, [](auto& b) { b.version = 0; }, [](auto& b) { b.options = 1; }});
  expect_flaws<WelcomeBody>("welcome", {[](auto& b) { b.role = Role::client; }, [](auto& b) { b.version = 0; },
                                        [](auto& b) { b.options = 2; }});
  EXPECT_EQ(flaw(WelcomeBody{.options = kWelcomeDatagrams}), nullptr);
  expect_flaws<OpenBody>("open", {[](auto& b) { b.job_id = JobId{0}; }, [](auto& b) { b.group_size = 0; },
                                  [](auto& b) { b.reserved = 1; }});
  expect_flaws<OpenedBody>("opened", {[](auto& b) { b.job_id = JobId{0}; }, [](auto& b) { b.group_id = GroupId{0}; },
                                      [](auto& b) { b.reserved = 1; }});
  expect_flaws<JoinBody>(
      "join", {[](auto& b) { b.job_id = JobId{0}; }, [](auto& b) { b.group_size = 0; },
               [](auto& b) { b.group_size = kNoRank; }, [](auto& b) { b.rank = 16; }, [](auto& b) { b.members = 0; },
               [](auto& b) { b.members = 17; }, [](auto& b) { b.osts = 0; }, [](auto& b) { b.payload_per_ost = 0; },
               [](auto& b) { b.payload_per_ost = kPayloadMax + 1; }, [](auto& b) { b.chunk_bytes = kPayloadMax + 1; },
               [](auto& b) { b.reserved = 1; }, [](auto& b) { b.path_length = 0; }, [](auto& b) { b.path_length = 9; },
               [](auto& b) { b.path_length = 3; }, [](auto& b) { b.path_length = 1; },
               [](auto& b) { b.path[0].expected_members = 0; }, [](auto& b) { b.path[1].expected_members = 17; },
               [](auto& b) { b.path[7].node_id = NodeId{1}; }});
  expect_flaws<JoinedBody>("joined",
                           {[](auto& b) { b.job_id = JobId{0}; }, [](auto& b) { b.osts = 0; },
                            [](auto& b) { b.payload_per_ost = 0; }, [](auto& b) { b.chunk_bytes = kPayloadMax + 1; }});
  expect_flaws<RefusedBody>(
      "refused", {[](auto& b) { b.job_id = JobId{0}; }, [](auto& b) { b.reason = static_cast<RefuseReason>(0); },
                  [](auto& b) { b.reason = static_cast<RefuseReason>(12); },
                  [](auto& b) { b.what = AggKind::contribute; }, [](auto& b) { b.reserved[6] = 1; }});
  expect_flaws<TroubleBody>(
      "trouble",
      {[](auto& b) { b.reason = static_cast<TroubleReason>(0); },
       [](auto& b) { b.reason = static_cast<TroubleReason>(5); }, [](auto& b) { b.field = static_cast<Field>(11); },
       [](auto& b) { b.culprit = kNoRank; }, [](auto& b) { b.field = Field::none; }, [](auto& b) { b.other = kNoRank; },
       [](auto& b) { b.lost.name[47] = 'x'; }, [](auto& b) { b.lost.noticed_by[0] = '\n'; }});
  expect_flaws<DatagramsBody>(
      "datagrams", {[](auto& b) { b.payload_max = 0; }, [](auto& b) { b.payload_max = 12; },
                    [](auto& b) { b.child = 64; }, [](auto& b) { b.window = 3; }, [](auto& b) { b.features = 2; }});
  expect_flaws<OverBody>("over", {[](auto& b) { b.reason = static_cast<OverReason>(0); },
                                  [](auto& b) { b.reason = static_cast<OverReason>(3); },
                                  [](auto& b) { b.lost.host.fill('x'); }, [](auto& b) { b.lost.is_parent = 2; }});
}

TEST(AggCodec, NumbersAreComparedInACircle) {
  EXPECT_TRUE(seq_before(Sequence{1}, Sequence{2}));
  EXPECT_FALSE(seq_before(Sequence{2}, Sequence{2}));
  EXPECT_TRUE(seq_before(Sequence{0xFFFFFFFF}, Sequence{0}));
  EXPECT_FALSE(seq_before(Sequence{0}, Sequence{0xFFFFFFFF}));
}

TEST(AggCodec, PeopleCanReadIt) {
  EXPECT_EQ(describe(header_of(sample("contribute"))),
            "contribute tree 3 group 65543 seq 16909060 allreduce sum float32 count 1000 first 996 origin 5 "
            "members 4 bytes 16 flags last");
  const auto join = std::span<const std::byte>(sample("join").bytes).subspan(kAggHeaderBytes);
  EXPECT_NE(dump_fields(join, layout<JoinBody>()).find("path_length 2 reserved 0 path 21,8,22,16"), std::string::npos);
  const auto nothing = decode_agg_header(std::vector<std::byte>(64), kPayloadMax);
  ASSERT_FALSE(nothing);
  EXPECT_TRUE(nothing.error().context.starts_with("magic")) << nothing.error().context;
  EXPECT_TRUE(describe(header_of(sample("joined-reproducible"))).ends_with(" flags reproducible"));
}

}  // namespace
}  // namespace sumac::wire
