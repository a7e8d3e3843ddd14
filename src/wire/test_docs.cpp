#include "wire/test_docs.hpp"

#include "wire/agg_codec.hpp"
#include "wire/datagram.hpp"
#include "wire/hop_frame.hpp"
#include "wire/host_codec.hpp"
#include "wire/peer.hpp"
#include "wire/proof.hpp"

namespace sumac::wire {
namespace {

struct KindRow {
  AggKind kind;
  std::string_view direction, payload, meaning;
};
constexpr KindRow kKinds[] = {
    {AggKind::hello, "first", "HelloBody", "the peer that connected: a client of a job, or a node"},
    {AggKind::proof, "up", "ProofBody",
     "answer to welcome: the child knows the key too; before it a node accepts hello only"},
    {AggKind::name, "up", "NameBody", "behind proof: the name of the host or node that connected, for people"},
    {AggKind::open, "up", "OpenBody", "rank 0 of a communicator asks the tree's root for a group id"},
    {AggKind::join, "up", "JoinBody", "a member, or a node for all members below it, enters a group"},
    {AggKind::contribute, "up", "user data", "one number's data; barrier and leave carry none"},
    {AggKind::trouble, "up", "TroubleBody", "a dead rank, or two members that disagree and the field"},
    {AggKind::opened, "down", "OpenedBody", "the group id"},
    {AggKind::joined, "down", "JoinedBody", "the group stands: window and payload"},
    {AggKind::refused, "both", "RefusedBody",
     "hello, open or join was refused; a node sends its refusal to both sides"},
    {AggKind::result, "down", "user data", "one number's result, for every member"},
    {AggKind::verdict, "down", "TroubleBody", "first number that nobody completes, and the reason; ends the group"},
    {AggKind::over, "down", "OverBody", "the group is over at the parent, without a verdict"},
    {AggKind::welcome, "down", "WelcomeBody",
     "answer to hello: the parent's id and version, and its proof that it knows the key"},
    {AggKind::invited, "down", "InvitedBody",
     "the address at which the group's small results arrive by multicast as well; before joined"},
    {AggKind::closed, "down", "none",
     "every member has contributed all numbers before `sequence`; results carry it too"},
    {AggKind::datagrams, "down", "DatagramsBody",
     "the node's kernel answers small operations: its terms; before joined"},
};

constexpr std::pair<HostKind, std::string_view> kHostKinds[] = {
    {HostKind::attach, "library: presents this process"},
    {HostKind::attached, "sharpd: this host's name"},
    {HostKind::job_begin, "library, rank 0: begin a job"},
    {HostKind::job_host, "library, rank 0: list of the job's hosts"},
    {HostKind::job_granted, "sharpd: the quota granted, of each tree"},
    {HostKind::job_tree, "sharpd: one of the trees granted; its nodes and leaves follow"},
    {HostKind::job_node, "sharpd: list of the tree's nodes"},
    {HostKind::job_leaf, "sharpd: list of leaf nodes, in the order of the hosts"},
    {HostKind::job_refused, "sharpd: the reason of a refusal"},
    {HostKind::job_end, "library, rank 0: end the job"},
    {HostKind::job_ended, "sharpd: it is ended"},
    {HostKind::member,
     "library: this process is a rank of the job; if it ends without leave, the other ranks learn of its death"},
    {HostKind::leave, "library: this process has left the job"},
    {HostKind::rank_died, "sharpd: this rank of the job, on this host, is dead"},
    {HostKind::trees_wanted, "library: the job's trees are of no use to one of its groups, which outlives them"},
};

constexpr std::pair<PeerKind, std::string_view> kPeerKinds[] = {
    {PeerKind::hello, "the member that connected; HelloBody, whose id is its rank and whose job is the group's number"},
    {PeerKind::welcome, "answer with the acceptor's proof; WelcomeBody"},
    {PeerKind::proof, "the connector's proof; ProofBody"},
    {PeerKind::data, "one message of an operation; user data"},
    {PeerKind::ready, "there is memory for the first `index` messages of an operation"},
    {PeerKind::ask, "wants to be told when the receiver has begun, or ended, an operation"},
    {PeerKind::tell, "the answer"},
    {PeerKind::abort, "the group is broken; AbortBody"},
    {PeerKind::leave, "the sender has ended all its operations and sends nothing more"},
    {PeerKind::message, "a short message; MessageBody and user data"},
    {PeerKind::offer, "a long message, whose bytes wait at the sender; MessageBody"},
    {PeerKind::take, "answer to an offer: there is memory for the message, or nobody wants it"},
    {PeerKind::part, "the next bytes of a message that was taken; user data, 256 KiB but for the last part"},
    {PeerKind::credit, "the receiver may send messages with lower numbers than `sequence`"},
    {PeerKind::note, "for the receiver's user: a word and a number, `index` and `sequence`"},
};

/// Writes one line per field: `| bytes | field | meaning |`.
std::string markdown_rows(std::span<const FieldRow> rows) {
  std::string text = "| bytes | field | meaning |\n|---|---|---|\n";
  for (const auto& row : rows) {
    const std::string bytes =
        row.bytes == 1 ? fmt::format("{}", row.offset) : fmt::format("{}-{}", row.offset, row.offset + row.bytes - 1);
    text += fmt::format("| {} | {} | {} |\n", bytes, row.name, row.meaning);
  }
  return text;
}

std::string section(std::string_view title, std::size_t size, std::span<const FieldRow> rows) {
  return fmt::format("\n## {}: {} bytes\n\n{}", title, size, markdown_rows(rows));
}

}  // namespace

std::string wire_markdown() {
  std::string text =
      "# Bytes on the wire\n\n"
      "Made from the rows of `src/wire/*_layout.cpp`. All numbers are little-endian. Receivers check that a field "
      "marked as zero is zero. [protocol.md](protocol.md) has "
      "the order of the messages.\n\n"
      "# The aggregation protocol\n\nA message is an AggHeader and `payload_bytes` of payload: user data, or one of "
      "the bodies.\n\n"
      "| kind | name | direction | payload | meaning |\n|---|---|---|---|---|\n";
  for (const auto& row : kKinds)
    text += fmt::format("| {} | {} | {} | {} | {} |\n", static_cast<int>(row.kind), to_string(row.kind), row.direction,
                        row.payload, row.meaning);
  text += section("AggHeader", sizeof(AggHeader), layout<AggHeader>());
  text += section("HelloBody", sizeof(HelloBody), layout<HelloBody>());
  text += section("WelcomeBody", sizeof(WelcomeBody), layout<WelcomeBody>());
  text += section("ProofBody", sizeof(ProofBody), layout<ProofBody>());
  text += fmt::format(
      "\nA proof is the HMAC-SHA-256, under the job's key or the node pair's, of: 16 letters that name the side that "
      "proves\n(`{}`, `{}`), tree_id (4 bytes), the HelloBody, the WelcomeBody with a proof of zeros,\nand the "
      "address at which the parent listens, as the manager tells it to children. A node pair's key is the first 16 "
      "bytes\nof the HMAC under the parent's own key of: `{}`, tree_id, node id of the child, node id of the parent "
      "(4 bytes each).\n",
      kParentLabel, kChildLabel, kPairLabel);
  text += section("NameBody", sizeof(NameBody), layout<NameBody>());
  text += section("OpenBody", sizeof(OpenBody), layout<OpenBody>());
  text += section("OpenedBody", sizeof(OpenedBody), layout<OpenedBody>());
  text += section("JoinBody", sizeof(JoinBody), layout<JoinBody>());
  text += section("JoinedBody", sizeof(JoinedBody), layout<JoinedBody>());
  text += section("RefusedBody", sizeof(RefusedBody), layout<RefusedBody>());
  text += section("TroubleBody", sizeof(TroubleBody), layout<TroubleBody>());
  text += section("OverBody", sizeof(OverBody), layout<OverBody>());
  text += section("InvitedBody", sizeof(InvitedBody), layout<InvitedBody>());
  text += section("DatagramsBody", sizeof(DatagramsBody), layout<DatagramsBody>());
  text += fmt::format(
      "\n# Multicast datagrams\n\nA `result` as on a link, header and payload, of at most {} bytes of payload, and "
      "behind it a tag of {} bytes: SipHash-2-4 of\nheader and payload under the key of `invited`, little-endian. "
      "A receiver discards a datagram with another tag, and one that is not such a result.\n",
      kMulticastPayloadMax, kTagBytes);
  text +=
      "\n# Frames of the datagram way\n\nA HopHeader and the payload, in one UDP datagram; what the kernel of a node "
      "adds up ([protocol.md](protocol.md)).\n";
  text += section("HopHeader", sizeof(HopHeader), layout<HopHeader>());

  text += fmt::format(
      "\n# Client library and sharpd\n\nMessages of {} bytes travel over a unix SOCK_SEQPACKET socket: a HostHeader, "
      "then "
      "one body or as many\n"
      "entries of a list as `entries` says, then zeros.\n\n| kind | name | meaning |\n|---|---|---|\n",
      kHostMessageBytes);
  for (const auto& [kind, meaning] : kHostKinds)
    text += fmt::format("| {} | {} | {} |\n", static_cast<int>(kind), to_string(kind), meaning);
  text += section("HostHeader", sizeof(HostHeader), layout<HostHeader>());
  for (const auto& [kind, meaning] : kHostKinds)
    if (host_entry_bytes(kind) > 0)
      text += section(fmt::format("{}{}", to_string(kind), is_list(kind) ? ", one entry" : ""), host_entry_bytes(kind),
                      host_layout(kind));

  text +=
      "\n# Members of a group without a tree\n\nA message is a PeerHeader and `payload_bytes` behind it. Proofs are "
      "made "
      "as those of a hop, under the group's key, with the\ngroup's number as tree_id.\n\n"
      "| kind | name | meaning |\n|---|---|---|\n";
  for (const auto& [kind, meaning] : kPeerKinds)
    text += fmt::format("| {} | {} | {} |\n", static_cast<int>(kind), to_string(kind), meaning);
  text += section("PeerHeader", sizeof(PeerHeader), layout<PeerHeader>());
  text += section("AbortBody", sizeof(AbortBody), layout<AbortBody>());
  text += section("MessageBody", sizeof(MessageBody), layout<MessageBody>());

  text +=
      "\n# Frames of the tcp transport\n\nEach message above travels over tcp as one data frame. The connector's first "
      "frame is `hello`, the\n"
      "acceptor's is `welcome`, both with a greeting: version (2 bytes, 1), zero (2 bytes), longest message accepted "
      "(4 bytes).\n\n"
      "| bytes | field | meaning |\n|---|---|---|\n"
      "| 0-1 | magic | 0x4653, \"SF\" |\n"
      "| 2 | type | 1 hello, 2 welcome, 3 data, 4 ping, 5 pong |\n"
      "| 3 | flags | zero |\n"
      "| 4-7 | length | bytes that follow; hello, welcome: 8; ping, pong: 0 |\n";
  return text;
}

}  // namespace sumac::wire
