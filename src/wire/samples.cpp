#include "wire/samples.hpp"

#include "base/bytes.hpp"
#include "wire/agg_codec.hpp"
#include "wire/datagram.hpp"
#include "wire/hop_frame.hpp"
#include "wire/host_codec.hpp"
#include "wire/peer.hpp"

namespace sumac::wire {
namespace {

AggHeader control(AggKind kind, std::uint32_t group) {
  AggHeader h;
  h.kind = kind;
  h.tree_id = TreeId{3};
  h.group_id = GroupId{group};
  h.sequence = Sequence{0x01020304};
  return h;
}

template <Message Body>
Sample with_body(std::string name, const AggHeader& header, const Body& body) {
  const auto frame = encoded(header, body);
  return {std::move(name), {frame.begin(), frame.end()}};
}

Sample with_data(std::string name, AggHeader header, std::size_t bytes) {
  header.payload_bytes = static_cast<std::uint32_t>(bytes);
  const auto head = encoded(header);
  Sample sample{std::move(name), {head.begin(), head.end()}};
  for (std::size_t i = 0; i < bytes; ++i) sample.bytes.push_back(static_cast<std::byte>(i + 1));
  return sample;
}

AggHeader data(AggKind kind, Coll coll) {
  AggHeader h = control(kind, 0x00010007);
  h.coll = coll;
  if (kind != AggKind::result) h.origin = 5;
  if (kind == AggKind::contribute) h.members = 4;
  return h;
}

AggHeader reduction(AggKind kind) {
  AggHeader h = data(kind, Coll::allreduce);
  h.op = Op::sum;
  h.dtype = Dtype::float32;
  h.flags = kFlagLast;
  h.count = 1000;
  h.first = 996;
  return h;
}

JoinBody join() {
  JoinBody b;
  b.job_id = JobId{0x1122334455667788};
  b.features = 0xF0 | kFeatureOutlives;
  b.rank = 5;
  b.world_rank = WorldRank{11};
  b.group_size = 16;
  b.members = 4;
  b.osts = 12;
  b.stream_window = 16;
  b.payload_per_ost = 1024;
  b.chunk_bytes = 65536;
  b.path_length = 2;
  b.path[0] = {NodeId{21}, 8};
  b.path[1] = {NodeId{22}, 16};
  return b;
}

template <std::size_t n>
std::array<char, n> text(std::string_view value) {
  std::array<char, n> field{};
  if (!put_text(field, value)) return {};
  return field;
}

Sample host(const HostMessage& message) {
  const auto bytes = encoded(message);
  return {"host-" + std::string(to_string(message.header.kind)), {bytes.begin(), bytes.end()}};
}

}  // namespace

std::vector<Sample> agg_samples() {
  constexpr JobId kJob{0x1122334455667788};
  HelloBody hello{kJob, {}, Role::client, 11, kAggVersion, 0};
  WelcomeBody welcome{{}, {}, Role::node, NodeId{21}, kAggVersion, 0};
  ProofBody proof;
  const auto count_up = [](auto& bytes, std::uint8_t from) {
    for (auto& byte : bytes) byte = from++;
  };
  count_up(hello.nonce, 0xA0);
  count_up(welcome.nonce, 0xB0);
  count_up(welcome.proof, 0xC0);
  count_up(proof.proof, 0x10);
  JoinedBody joined{kJob, 12, 16, 1024, 65536, Sequence{100}, NodeId{22}};
  RefusedBody refused{kJob, 9, RefuseReason::no_ost, NodeId{21}, 51, 2, AggKind::join, {}};
  TroubleBody trouble{TroubleReason::disagree, Field::count, 5, 2, 1000, 2000, {}};
  LostNode lost{.silent_ms = 1000, .is_parent = 1};
  put_name(lost.name, "an-root");
  put_name(lost.host, "10.77.0.2");
  put_name(lost.noticed_by, "an-leaf1");

  AggHeader reproducible_joined = control(AggKind::joined, 0x00010007);
  reproducible_joined.flags = kFlagReproducible;
  AggHeader trouble_header = control(AggKind::trouble, 0x00010007);
  trouble_header.origin = 5;
  trouble_header.members = 4;
  AggHeader pairs = data(AggKind::contribute, Coll::allreduce);
  pairs.op = Op::minloc;
  pairs.dtype = Dtype::float64;
  pairs.tag_dtype = Dtype::int32;
  pairs.flags = kFlagFirst | kFlagLast | kFlagStreaming;
  pairs.count = 2;
  AggHeader partial = reduction(AggKind::contribute);
  partial.flags |= kFlagReproducible;
  partial.origin = 8;
  AggHeader bcast = data(AggKind::contribute, Coll::bcast);
  bcast.dtype = Dtype::uint8;
  bcast.flags = kFlagFirst;
  bcast.count = 100;
  AggHeader barrier = data(AggKind::contribute, Coll::barrier);
  barrier.flags = kFlagFirst | kFlagLast;
  AggHeader refusal = data(AggKind::contribute, Coll::refusal);
  refusal.flags = kFlagFirst | kFlagLast;
  AggHeader listening = reduction(AggKind::contribute);
  say_listening(listening, true);
  InvitedBody invited;
  invited.key = datagram_key();
  invited.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 239, 255, 0, 7};
  invited.port = 5383;
  AggHeader after_datagrams = data(AggKind::contribute, Coll::barrier);
  after_datagrams.flags = kFlagFirst | kFlagLast | kFlagDatagrams;
  after_datagrams.closed = Sequence{0x01020300};
  DatagramsBody datagrams{.group = 3, .payload_max = 1024, .child = 2, .window = 4};
  count_up(datagrams.nonce, 0xD0);
  DatagramsBody canonical = datagrams;
  canonical.features = kDatagramsCanonical;
  WelcomeBody takes_datagrams = welcome;
  takes_datagrams.options = kWelcomeDatagrams;
  AggHeader result = reduction(AggKind::result);
  result.closed = Sequence{0x01020302};
  AggHeader denied = data(AggKind::result, Coll::lock);
  denied.flags = kFlagFirst | kFlagLast | kFlagDenied;

  return {
      with_body("hello", control(AggKind::hello, 0), hello),
      with_body("welcome", control(AggKind::welcome, 0), welcome),
      with_body("welcome-datagrams", control(AggKind::welcome, 0), takes_datagrams),
      with_body("proof", control(AggKind::proof, 0), proof),
      with_body("refused-hello", control(AggKind::refused, 0),
                RefusedBody{JobId{}, 0, RefuseReason::version, NodeId{21}, kAggVersion, 2, AggKind::hello, {}}),
      with_body("name", control(AggKind::name, 0), name_body("n1.rack-7").value()),
      with_body("open", control(AggKind::open, 0), OpenBody{kJob, 9, 16, 0}),
      with_body("opened", control(AggKind::opened, 0), OpenedBody{kJob, 9, GroupId{0x00010007}, 0}),
      with_body("join", control(AggKind::join, 0x00010007), join()),
      with_body("joined", control(AggKind::joined, 0x00010007), joined),
      with_body("joined-reproducible", reproducible_joined, joined),
      with_body("refused", control(AggKind::refused, 0x00010007), refused),
      with_body("trouble", trouble_header, trouble),
      with_body("verdict", control(AggKind::verdict, 0x00010007), trouble),
      with_body("over", control(AggKind::over, 0x00010007), OverBody{OverReason::lost_node, NodeId{21}, lost}),
      with_body("over-manager", control(AggKind::over, 0x00010007),
                over_by_manager(NodeId{21}, "node an-leaf1 stays away, and tree 1 has changed for this job")),
      with_body("invited", control(AggKind::invited, 0x00010007), invited),
      with_data("closed", control(AggKind::closed, 0x00010007), 0),
      with_body("datagrams", control(AggKind::datagrams, 0x00010007), datagrams),
      with_body("datagrams-canonical", control(AggKind::datagrams, 0x00010007), canonical),
      with_data("contribute", reduction(AggKind::contribute), 16),
      with_data("contribute-listening", listening, 16),
      with_data("contribute-pairs", pairs, 24),
      with_data("contribute-reproducible", partial, 16),
      with_data("contribute-bcast", bcast, 10),
      with_data("contribute-barrier", barrier, 0),
      with_data("contribute-refusal", refusal, 0),
      with_data("contribute-datagrams", after_datagrams, 0),
      with_data("result", result, 16),
      with_data("result-leave", data(AggKind::result, Coll::leave), 0),
      with_data("result-lock-denied", denied, 0),
  };
}

Secret datagram_key() {
  Secret key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  return key;
}

std::vector<Sample> datagram_samples() {
  AggHeader whole = reduction(AggKind::result);
  whole.flags = kFlagFirst | kFlagLast;
  whole.first = 0;
  whole.count = 4;
  std::vector<Sample> samples{with_data("datagram-whole", whole, 16)};
  // These are messages that links carry but that are no datagrams.
  for (auto& sample : agg_samples())
    if (sample.name == "result" || sample.name == "verdict" || sample.name == "result-lock-denied")
      samples.push_back({"datagram-" + sample.name, std::move(sample.bytes)});
  for (auto& sample : samples) {
    sample.bytes.resize(sample.bytes.size() + kTagBytes);
    seal_datagram(sample.bytes, datagram_key());
  }
  return samples;
}

HopKey hop_key() {
  HopKey key{};
  const Secret secret = datagram_key();
  for (std::size_t i = 0; i < std::size(key.word); ++i) key.word[i] = load_le<std::uint64_t>(secret.data() + 8 * i);
  return key;
}

std::vector<Sample> hop_samples() {
  const auto sample = [](const char* name, HopKind kind, int flags, std::uint16_t payload_bytes) {
    HopFrame frame{};
    HopHeader& h = frame.header;
    h.group = 0x00010007;
    h.kind = static_cast<std::uint8_t>(kind);
    h.flags = static_cast<std::uint8_t>(flags);
    h.child = kind == kHopContribute || kind == kHopProbe ? 3 : 0;
    h.payload_bytes = payload_bytes;
    h.sequence = 0x01020304;
    if (payload_bytes > 0) {
      h.coll = kHopReduce;
      h.op = static_cast<std::uint8_t>(Op::sum);
      h.dtype = static_cast<std::uint8_t>(Dtype::float32);
      h.root = 0x0506;
      h.meaning = 0x0708;
    }
    for (std::size_t i = 0; i < hop_words(&h); ++i) frame.payload.word[i] = 0x0807060504030201 * (i + 1);
    HopFrameBytes bytes;
    const auto sealed = seal_hop_frame(frame, hop_key(), bytes);
    return Sample{name, {sealed.begin(), sealed.end()}};
  };
  return {sample("hop-contribute", kHopContribute, kHopFull, 12),
          sample("hop-result", kHopResult, kHopValue | kHopClosed, 12), sample("hop-probe", kHopProbe, 0, 0),
          sample("hop-probed", kHopProbed, 0, 0)};
}

std::vector<Sample> peer_samples() {
  const auto sample = [](PeerKind kind, std::size_t payload) {
    PeerHeader h;
    h.kind = kind;
    h.group = 0x01020304;
    h.begun = 9;
    h.ended = 7;
    h.payload_bytes = static_cast<std::uint32_t>(payload);
    if (kind == PeerKind::data || kind == PeerKind::ready || kind == PeerKind::ask) {
      h.sequence = 8;
      h.index = 2;
      h.terms = {.coll = 1,
                 .algorithm = 2,
                 .op = Op::maxloc,
                 .dtype = Dtype::float64,
                 .tag = Dtype::int32,
                 .root = 3,
                 .element_bytes = 12,
                 .bytes = 24};
    }
    if (kind >= PeerKind::message) h.sequence = 5;
    if (kind == PeerKind::take || kind == PeerKind::part || kind == PeerKind::note) h.index = 1;
    Sample made{"peer-" + std::string(to_string(kind)), std::vector<std::byte>(sizeof h + payload)};
    store(made.bytes.data(), h);
    for (std::size_t i = 0; i < payload; ++i) made.bytes[sizeof h + i] = static_cast<std::byte>(i);
    if (kind == PeerKind::message || kind == PeerKind::offer)
      store(made.bytes.data() + sizeof h, MessageBody{.bytes = kind == PeerKind::message ? 8u : 1u << 20, .tag = 7});
    return made;
  };
  return {sample(PeerKind::hello, sizeof(HelloBody)),
          sample(PeerKind::welcome, sizeof(WelcomeBody)),
          sample(PeerKind::proof, sizeof(ProofBody)),
          sample(PeerKind::data, 24),
          sample(PeerKind::ready, 0),
          sample(PeerKind::ask, 0),
          sample(PeerKind::tell, 0),
          sample(PeerKind::abort, sizeof(AbortBody)),
          sample(PeerKind::leave, 0),
          sample(PeerKind::message, sizeof(MessageBody) + 8),
          sample(PeerKind::offer, sizeof(MessageBody)),
          sample(PeerKind::take, 0),
          sample(PeerKind::part, 24),
          sample(PeerKind::credit, 0),
          sample(PeerKind::note, 0)};
}

std::vector<Sample> host_samples() {
  constexpr JobId kJob{0x1122334455667788};
  JobGrantedBody granted;
  granted.quota = {51, 1024, 8, 64, 1, 1, 16, 65536, 1};
  granted.tree_count = 2;
  for (std::size_t i = 0; i < granted.job_key.size(); ++i) granted.job_key[i] = static_cast<std::uint8_t>(0xA0 + i);
  granted.rails = 1;
  granted.nodes_on_member_hosts = 2;
  granted.host_rate_bits_per_s = 25'000'000'000;
  JobTreeBody tree{TreeId{3}, 1, NodeId{22}, 3, 12'500'000'000, 1'500, 1, 0};
  const JobHostEntry hosts[] = {{text<kHostNameMax>("n1")}, {text<kHostNameMax>("n2")}};
  const JobNodeEntry nodes[] = {
      {NodeId{21}, NodeId{22}, text<kHostNameMax>("leaf-1"), text<kAddressMax>("tcp:10.1.0.5:7000")}};
  const JobLeafEntry leaves[] = {{NodeId{21}}, {NodeId{21}}, {NodeId{20}}};
  return {
      host(host_message(HostKind::attach, AttachBody{WorldRank{11}, 16, 1, 0})),
      host(host_message(HostKind::attached, AttachedBody{text<kHostNameMax>("n1"), text<kDevicesMax>("mlx5_1:1")})),
      host(host_message(
          HostKind::job_begin,
          JobBeginBody{{51, 1024, 8, 0, 0, 1, 0, 0, 1}, 16, 2, text<kDevicesMax>("mlx5_0:1,mlx5_1:1"), 0, 0}, kJob)),
      host(host_list<JobHostEntry>(HostKind::job_host, hosts, 0, 2, kJob)),
      host(host_message(HostKind::job_granted, granted, kJob)),
      host(host_message(HostKind::job_tree, tree, kJob)),
      host(host_list<JobNodeEntry>(HostKind::job_node, nodes, 2, 3, kJob)),
      host(host_list<JobLeafEntry>(HostKind::job_leaf, leaves, 0, 16, kJob)),
      host(host_message(HostKind::job_refused, JobRefusedBody{35, 0, text<512>("51 OSTs asked, 12 left")}, kJob)),
      host(host_message(HostKind::job_end, kJob)),
      host(host_message(HostKind::job_ended, kJob)),
      host(host_message(HostKind::member, MemberBody{WorldRank{11}, 0, granted.job_key}, kJob)),
      host(host_message(HostKind::leave, kJob)),
      host(host_message(HostKind::rank_died, MemberBody{WorldRank{11}, 0, {}}, kJob)),
      host(host_message(HostKind::trees_wanted, TreesWantedBody{3, 0}, kJob)),
  };
}

}  // namespace sumac::wire
