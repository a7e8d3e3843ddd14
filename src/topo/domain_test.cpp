#include "topo/domain.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace sumac::topo {
namespace {

constexpr auto kHost = DomainKind::host, kSocket = DomainKind::socket, kNuma = DomainKind::numa;

TEST(Domain, a_node_where_nodes_divide_sockets_else_a_socket) {
  const struct {
    const char* name;
    std::vector<Place> places;  // {host, socket, node}
    DomainKind kind;            ///< The kind of the first rank's host.
    std::vector<std::int32_t> of;
    int count;
    const char* text;
  } rows[] = {
      {"two sockets of one node each",
       {{0, 0, 0}, {0, 0, 0}, {0, 1, 1}},
       kSocket,
       {0, 0, 1},
       2,
       "cut by socket: 2 domains"},
      {"four nodes on each of two sockets (an EPYC with NPS4), in turn",
       {{0, 0, 0}, {0, 1, 4}, {0, 0, 1}, {0, 1, 5}, {0, 0, 2}, {0, 1, 6}, {0, 0, 3}, {0, 1, 7}, {0, 0, 0}},
       kNuma,
       {0, 4, 1, 5, 2, 6, 3, 7, 0},
       8,
       "cut by NUMA node: 8 domains"},
      {"two nodes on the one socket (sub-NUMA clustering)",
       {{0, 0, 0}, {0, 0, 1}},
       kNuma,
       {0, 1},
       2,
       "cut by NUMA node: 2 domains"},
      {"ranks on one node of many: nothing to divide",
       {{0, 0, 3}, {0, 0, 3}},
       kSocket,
       {0, 0},
       1,
       "not cut: all ranks are on one socket"},
      {"ranks on one node of each socket: both cut alike",
       {{0, 0, 3}, {0, 1, 4}},
       kSocket,
       {0, 1},
       2,
       "cut by socket: 2 domains"},
      {"a node that spans both sockets (interleaved memory)",
       {{0, 0, 0}, {0, 1, 0}},
       kSocket,
       {0, 1},
       2,
       "cut by socket: 2 domains"},
      {"more nodes than sockets, but one of them spans both",
       {{0, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 1, 2}},
       kSocket,
       {0, 1, 0, 1},
       2,
       "cut by socket: 2 domains"},
      {"nodes of two sockets each, ranks bound to nodes: no socket is known",
       {{0, -1, 0}, {0, -1, 1}, {0, -1, 0}},
       kNuma,
       {0, 1, 0},
       2,
       "cut by NUMA node: 2 domains"},
      {"firmware that does not tell sockets",
       {{0, -1, 7}, {0, -1, 7}},
       kNuma,
       {0, 0},
       1,
       "not cut: all ranks are on one NUMA node"},
      {"one rank is bound to a socket only",
       {{0, 0, 0}, {0, 0, -1}, {0, 1, 2}, {0, 0, 1}},
       kSocket,
       {0, 0, 1, 0},
       2,
       "cut by socket: 2 domains"},
      {"every rank is bound to a socket only",
       {{0, 1, -1}, {0, 0, -1}},
       kSocket,
       {1, 0},
       2,
       "cut by socket: 2 domains"},
      {"one rank is bound to nothing",
       {{0, 0, 0}, {0, 0, 1}, {0, -1, -1}, {0, 1, 2}},
       kHost,
       {0, 0, 0, 0},
       1,
       "not cut: rank 2 is bound to no socket and no NUMA node"},
      {"one rank is bound to a node that spans sockets, another to a socket only",
       {{0, -1, 0}, {0, 0, -1}},
       kHost,
       {0, 0},
       1,
       "not cut: rank 0 is bound to no socket"},
      {"nothing is known of any rank",
       {{0}, {0}},
       kHost,
       {0, 0},
       1,
       "not cut: rank 0 is bound to no socket and no NUMA node"},
      {"the kernel's own numbers, with gaps: two containers with a cpuset each",
       {{0, 36, 12}, {0, 36, 9}, {0, 2, 1}},
       kNuma,
       {2, 1, 0},
       3,
       "cut by NUMA node: 3 domains"},
      {"each host decides by its own ranks",
       {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {0, 0, 1}, {1, 1, 1}, {2, -1, -1}},
       kNuma,
       {0, 0, 0, 1, 1, 0},
       5,
       "cut by socket: 2 domains on 1 host; by NUMA node: 2 domains on 1 host; not cut: 1 host"},
      {"hosts of one kind",
       {{0, 0}, {1, 0}, {0, 1}, {1, 1}},
       kSocket,
       {0, 0, 1, 1},
       4,
       "cut by socket: 4 domains on 2 hosts"},
      {"one socket on each of two hosts",
       {{0, 0, 0}, {1, 1, 1}},
       kSocket,
       {0, 0},
       2,
       "not cut: the ranks of each host are on one socket"},
      {"unknown hosts are hosts by themselves",
       {{-1, 0, 0}, {-1, 1, 1}},
       kSocket,
       {0, 0},
       2,
       "not cut: the ranks of each host are on one socket"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Domains domains = find_domains(row.places);
    EXPECT_EQ(domains.kind.front(), row.kind);
    EXPECT_EQ(domains.of, row.of);
    EXPECT_EQ(count(domains, row.places), row.count);
    EXPECT_EQ(describe(domains, row.places), row.text);
  }
  EXPECT_TRUE(find_domains({}).of.empty());
}

TEST(Domain, a_part_of_a_team_never_joins_two_domains_of_the_whole_that_both_cut_by_node) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random{seed};
    // A machine whose nodes divide its sockets; everybody is bound to a core.
    const auto sockets = 1 + random.below(4), nodes = 1 + random.below(4);
    std::vector<Place> whole(2 + random.below(167)), part;
    std::vector<std::size_t> in_whole;
    for (auto& place : whole) {
      const auto node = static_cast<std::int32_t>(random.below(sockets * nodes));
      place = {0, node / static_cast<std::int32_t>(nodes), node, 0};
    }
    for (std::size_t rank = 0; rank < whole.size(); ++rank)
      if (random.chance(0.4)) part.push_back(whole[rank]), in_whole.push_back(rank);
    const auto of_whole = find_domains(whole), of_part = find_domains(part);
    for (std::size_t a = 0; a < part.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) {
        const bool is_together = of_part.of[a] == of_part.of[b];
        EXPECT_EQ(is_together, of_whole.of[in_whole[a]] == of_whole.of[in_whole[b]]);
        EXPECT_EQ(is_together, part[a].numa == part[b].numa);
      }
  }
}

}  // namespace
}  // namespace sumac::topo
