// Every byte of the aggregation messages has its name here, once: see layout.hpp.
#include "wire/agg_codec.hpp"

namespace sumac::wire {
namespace {

#define F(field, meaning) SUMAC_FIELD(Self, field, meaning)

constexpr auto header_rows() {
  using Self = AggHeader;
  return std::array{
      F(magic, "0x4153, \"SA\": turns away a stray peer"),
      F(version, "1; in `hello`, `welcome` and `refused` the sender's, whatever it is"),
      F(kind, "AggKind, table above"),
      F(tree_id, "tree of the group"),
      F(group_id, "0 in hello, welcome, proof, name, open, opened and in a refused open"),
      F(reserved, "zero"),
      F(sequence, "number in the group, wraps; trouble, verdict: the number they speak of"),
      F(coll,
        "0 none, 1 barrier, 2 allreduce, 3 reduce, 4 bcast, 5 reduce_scatter, 6 allgather, 8 leave, "
        "9 refusal, 10 lock, 11 unlock"),
      F(op, "operation as in sharp_coll.h, 12 none"),
      F(dtype, "type as in sharp_coll.h, 12 none"),
      F(tag_dtype, "type of the tags of MINLOC and MAXLOC, else 12"),
      F(flags,
        "1 first fragment, 2 last fragment, 4 streaming, 8 reproducible (join: wanted by all below; joined: the group "
        "has "
        "them), 16 denied (lock), 32 listening (contribute), 64 datagrams (contribute: all below receive them; result: "
        "all)"),
      F(root, "reduce, bcast: group rank of the root, modulo 65536; else zero"),
      F(payload_bytes, "bytes that follow the header"),
      F(count, "elements of the whole result; reduce_scatter: of the input"),
      F(first, "first element of this fragment"),
      F(origin, "up: lowest group rank whose data are in it; down: 0xffffffff"),
      F(members, "up: members whose data are in it; down: 0"),
      F(meaning, "what the members' callers mean by the data (src/base/meaning.hpp), or 0"),
      F(reserved_16, "zero"),
      F(closed,
        "result: the first number that some member has not contributed; contribute with flag datagrams: the first one "
        "by the links behind the last datagrams; else zero"),
  };
}

constexpr auto hello_rows() {
  using Self = HelloBody;
  return std::array{
      F(job_id, "a client's job; 0 from a node, which speaks for the jobs that it was granted"),
      F(nonce, "drawn by the child for this connection"),
      F(role, "1 client, 2 node"),
      F(id, "world rank of a client, node id of a node"),
      F(version, "1: the version spoken"),
      F(options, "zero: none is defined yet (room for encryption)"),
  };
}

constexpr auto welcome_rows() {
  using Self = WelcomeBody;
  return std::array{
      F(nonce, "drawn by the parent for this connection"),
      F(proof, "HMAC-SHA-256 under the key, see below"),
      F(role, "2 node"),
      F(id, "node id of the parent"),
      F(version, "1: the version spoken"),
      F(options, "1: the parent's kernel takes datagrams; all other bits are zero"),
  };
}

constexpr auto proof_rows() {
  using Self = ProofBody;
  return std::array{F(proof, "HMAC-SHA-256 under the key, see below")};
}

constexpr auto name_rows() {
  using Self = NameBody;
  return std::array{F(text, "letters, digits and any of - _ . : with zeros behind")};
}

constexpr auto open_rows() {
  using Self = OpenBody;
  return std::array{F(job_id, "job whose grant the id is taken from"),
                    F(token, "chosen by the asker, unique in the job: a repeat gets the same id"),
                    F(group_size, "members"), F(reserved, "zero")};
}

constexpr auto opened_rows() {
  using Self = OpenedBody;
  return std::array{F(job_id, "as asked"), F(token, "as asked"), F(group_id, "the new group's id, not 0"),
                    F(reserved, "zero")};
}

constexpr auto join_rows() {
  using Self = JoinBody;
  return std::array{
      F(job_id, "job"),
      F(features,
        "1: the group outlives its tree; 2: the sender takes datagrams: 8 bits from 2^8 are path_length again, then 16 "
        "each "
        "its UDP port, its number of the group, payload_max; 4: its kernel and those below add along the canonical "
        "tree; bits "
        "that the receiver does not know mean nothing"),
      F(rank, "group rank; the lowest when a node joins for its members"),
      F(world_rank, "rank in the job"),
      F(group_size, "members of the group"),
      F(members, "members this join speaks for"),
      F(osts, "least OSTs reserved below; a member: what it can use at most"),
      F(stream_window, "same for streaming chunks; 0: no streaming"),
      F(payload_per_ost, "bytes of one OST that the member was granted"),
      F(chunk_bytes, "bytes of one streaming chunk"),
      F(path_length, "entries of path, 1 to 8"),
      F(reserved, "zero"),
      F(path, "(node id, members of the group below it) from the node asked up to the root; unused: zero"),
  };
}

constexpr auto joined_rows() {
  using Self = JoinedBody;
  return std::array{
      F(job_id, "job"),
      F(osts, "W: nobody has more numbers in flight"),
      F(stream_window, "same for streaming chunks"),
      F(payload_per_ost, "bytes of one OST's payload"),
      F(chunk_bytes, "bytes of one streaming chunk"),
      F(first, "the group's first number"),
      F(root_node, "node that answers"),
  };
}

constexpr auto refused_rows() {
  using Self = RefusedBody;
  return std::array{
      F(job_id, "job"),
      F(token, "of the open, or 0"),
      F(reason,
        "1 no_group_id, 2 no_ost, 3 unknown_job, 4 unknown_group, 5 bad_path, 6 payload_too_large, "
        "8 bad_key, 9 version, 10 node_limit, 11 member_lost"),
      F(node_id, "who refused"),
      F(limit, "what was granted; version: the node's"),
      F(asked, "what was asked; version: the other side's"),
      F(what, "kind of the message that was refused"),
      F(reserved, "zero"),
  };
}

constexpr auto trouble_rows() {
  using Self = TroubleBody;
  return std::array{
      F(reason, "1 dead_rank, 2 disagree, 3 lost_connection, 4 gave_up"),
      F(field,
        "0 none, 1 coll, 2 op, 3 dtype, 4 tag_dtype, 5 count, 6 first, 7 flags, 8 payload_bytes, 9 root, 10 meaning"),
      F(culprit, "group rank; of two that disagree the one that came later"),
      F(other, "the one it disagrees with, or 0xffffffff"),
      F(culprit_value, "of `field`; gave_up: 1 + the rank on its host whose death made it, 0: none"),
      F(other_value, "of `field`"),
      F(lost.name, "a node that is gone; zeros: none"),
      F(lost.host, "its address or host"),
      F(lost.noticed_by, "node that noticed"),
      F(lost.silent_ms, "it stopped answering for so long; 0: its connection ended"),
      F(lost.is_parent, "1: it was the parent of who noticed, 0: its child"),
  };
}

constexpr auto invited_rows() {
  using Self = InvitedBody;
  return std::array{
      F(key, "of the group's tags. Dumps don't show it"),
      F(address, "IPv6, or IPv4 as ::ffff:a.b.c.d, in the order of the network"),
      F(port, "UDP port"),
      F(reserved_16, "zero"),
      F(reserved, "zero"),
  };
}

constexpr auto datagrams_rows() {
  using Self = DatagramsBody;
  return std::array{
      F(nonce, "drawn by the node for this group; the keys come from it and the job's key"),
      F(group, "the node's number of the group"),
      F(payload_max, "bytes of the largest operation that goes as a datagram"),
      F(child, "the receiver's index at the node"),
      F(window, "1, 2, 4 or 8: how many such numbers may be open"),
      F(features, "1: the kernels of the group add along the canonical tree; all other bits are zero"),
  };
}

constexpr auto over_rows() {
  using Self = OverBody;
  return std::array{
      F(reason, "1 lost_node, 2 manager: then a text says why it ended the job, filled up with zeros"),
      F(node_id, "who says so"),
      F(lost.name, "a node that is gone; zeros: none"),
      F(lost.host, "its address or host"),
      F(lost.noticed_by, "node that noticed"),
      F(lost.silent_ms, "it stopped answering for so long; 0: its connection ended"),
      F(lost.is_parent, "1: it was the parent of who noticed, 0: its child"),
  };
}

#undef F

}  // namespace

SUMAC_LAYOUT(AggHeader, header_rows)
SUMAC_LAYOUT(HelloBody, hello_rows)
SUMAC_LAYOUT(WelcomeBody, welcome_rows)
SUMAC_LAYOUT(ProofBody, proof_rows)
SUMAC_LAYOUT(NameBody, name_rows)
SUMAC_LAYOUT(OpenBody, open_rows)
SUMAC_LAYOUT(OpenedBody, opened_rows)
SUMAC_LAYOUT(JoinBody, join_rows)
SUMAC_LAYOUT(JoinedBody, joined_rows)
SUMAC_LAYOUT(RefusedBody, refused_rows)
SUMAC_LAYOUT(TroubleBody, trouble_rows)
SUMAC_LAYOUT(OverBody, over_rows)
SUMAC_LAYOUT(InvitedBody, invited_rows)
SUMAC_LAYOUT(DatagramsBody, datagrams_rows)

}  // namespace sumac::wire
