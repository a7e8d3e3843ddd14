#include "topo/hierarchy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.hpp"

namespace sumac::topo {
namespace {

using Members = std::vector<std::vector<std::uint32_t>>;

const char* const kLayouts[] = {"basesmsocket,basesmuma,p2p", "basesmuma,p2p", "basesmsocket,p2p", "p2p"};

std::vector<Level> levels_of(const char* sbgp) { return *parse_levels(sbgp, ""); }

Members members_of(const Cut& level) {
  Members found;
  for (const auto& subgroup : level.subgroups) found.push_back(subgroup.members);
  return found;
}

/// Makes `hosts` x 2 sockets x `per_socket` ranks, in the layout of mpirun's --map-by.
enum class MapBy { core, host, socket };
std::vector<Place> two_socket_hosts(int hosts, int per_socket, MapBy by) {
  const int per_host = 2 * per_socket, all = hosts * per_host;
  std::vector<Place> places;
  for (int rank = 0; rank < all; ++rank) {
    const int host = by == MapBy::host ? rank % hosts : rank / per_host;
    const int local = by == MapBy::host ? rank / hosts : rank % per_host;
    const int socket = by == MapBy::socket ? local % 2 : local / per_socket;
    places.push_back({host, socket, socket, local});
  }
  return places;
}

// These are the manual's pictures: two hosts of two sockets with two ranks each, in order.
TEST(Hierarchy, four_layouts) {
  const auto places = two_socket_hosts(2, 2, MapBy::core);
  const struct {
    const char* name;
    const char* sbgp;
    std::vector<Members> levels;
    const char* text;
  } rows[] = {
      {"three levels",
       kLayouts[0],
       {{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, {{0, 2}, {4, 6}}, {{0, 4}}},
       "basesmsocket 4 x 2, basesmuma 2 x 2, p2p 1 x 2"},
      {"hosts and their leaders", kLayouts[1], {{{0, 1, 2, 3}, {4, 5, 6, 7}}, {{0, 4}}}, "basesmuma 2 x 4, p2p 1 x 2"},
      {"socket leaders in the network",
       kLayouts[2],
       {{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, {{0, 2, 4, 6}}},
       "basesmsocket 4 x 2, p2p 1 x 4"},
      {"every rank by itself", kLayouts[3], {{{0, 1, 2, 3, 4, 5, 6, 7}}}, "p2p 1 x 8"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto hierarchy = cut(places, levels_of(row.sbgp));
    ASSERT_TRUE(hierarchy) << hierarchy.error().context;
    ASSERT_EQ(hierarchy->levels.size(), row.levels.size());
    for (std::size_t i = 0; i < row.levels.size(); ++i) EXPECT_EQ(members_of(hierarchy->levels[i]), row.levels[i]);
    EXPECT_EQ(describe(*hierarchy), row.text);
  }
}

TEST(Hierarchy, places_of_every_kind) {
  const struct {
    const char* name;
    const char* sbgp;
    std::vector<Place> places;
    std::vector<Members> levels;
  } rows[] = {
      {"round robin over two hosts keeps the order of ranks",
       "basesmuma,p2p",
       {{0}, {1}, {0}, {1}, {0}},
       {{{0, 2, 4}, {1, 3}}, {{0, 1}}}},
      {"hosts with different counts", "basesmuma,p2p", {{7}, {3}, {3}, {3}, {9}}, {{{0}, {1, 2, 3}, {4}}, {{0, 1, 4}}}},
      {"one rank a host",
       "basesmsocket,basesmuma,p2p",
       {{0, 0}, {1, 0}, {2, 1}},
       {{{0}, {1}, {2}}, {{0}, {1}, {2}}, {{0, 1, 2}}}},
      {"unbound ranks: the host is one socket",
       "basesmsocket,basesmuma,p2p",
       {{0}, {0}, {0}},
       {{{0, 1, 2}}, {{0}}, {{0}}}},
      {"one unbound rank makes its host one socket, not the other",
       "basesmsocket,basesmuma,p2p",
       {{0, 0}, {0, 1}, {0, -1}, {1, 0}, {1, 1}},
       {{{0, 1, 2}, {3}, {4}}, {{0}, {3, 4}}, {{0, 3}}}},
      {"the same number of a socket on another host is another socket",
       "basesmsocket,p2p",
       {{0, 5}, {1, 5}, {0, 5}},
       {{{0, 2}, {1}}, {{0, 1}}}},
      {"two NUMA nodes on the first socket, one on the second",
       "basesmsocket,basesmuma,p2p",
       {{0, 0, 0}, {0, 1, 2}, {0, 0, 1}, {0, 0, 0}, {0, 1, 2}},
       {{{0, 3}, {1, 4}, {2}}, {{0, 1, 2}}, {{0}}}},
      {"a leader of each NUMA node in the network",
       "basesmsocket,p2p",
       {{0, 0, 0}, {0, 0, 1}, {0, 0, 1}, {1, 0, 0}},
       {{{0}, {1, 2}, {3}}, {{0, 1, 3}}}},
      {"one rank without a node: its host goes by socket, the other by node",
       "basesmsocket,basesmuma,p2p",
       {{0, 0, 0}, {0, 0, -1}, {0, 1, 2}, {1, 0, 0}, {1, 0, 1}},
       {{{0, 1}, {2}, {3}, {4}}, {{0, 2}, {3, 4}}, {{0, 3}}}},
      {"ranks of unknown hosts share memory with nobody",
       "basesmuma,p2p",
       {{-1}, {-1}, {0}, {0}},
       {{{0}, {1}, {2, 3}}, {{0, 1, 2}}}},
      {"one rank", "basesmsocket,basesmuma,p2p", {{0, 0}}, {{{0}}, {{0}}, {{0}}}},
      {"one host needs no network level",
       "basesmsocket,basesmuma",
       {{0, 0}, {0, 1}, {0, 0}},
       {{{0, 2}, {1}}, {{0, 1}}}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto hierarchy = cut(row.places, levels_of(row.sbgp));
    ASSERT_TRUE(hierarchy) << hierarchy.error().context;
    ASSERT_EQ(hierarchy->levels.size(), row.levels.size());
    for (std::size_t i = 0; i < row.levels.size(); ++i) EXPECT_EQ(members_of(hierarchy->levels[i]), row.levels[i]) << i;
  }
}

TEST(Hierarchy, levels_that_leave_several_leaders_are_refused) {
  const struct {
    const char* sbgp;
    std::vector<Place> places;
    const char* text;
  } rows[] = {
      {"basesmuma", {{0}, {1}}, "HCOLL_SBGP=basesmuma: the last level leaves 2 leaders on 2 hosts: add p2p"},
      {"basesmsocket",
       {{0, 0}, {0, 1}, {0, 1}},
       "HCOLL_SBGP=basesmsocket: the last level leaves 2 leaders on 1 host: add basesmuma or p2p"},
  };
  for (const auto& row : rows) {
    const auto hierarchy = cut(row.places, levels_of(row.sbgp));
    ASSERT_FALSE(hierarchy);
    EXPECT_EQ(hierarchy.error().context, row.text);
  }
  EXPECT_FALSE(cut({}, levels_of("p2p")));
  EXPECT_FALSE(cut(std::vector<Place>{{0}}, {}));
}

TEST(Hierarchy, a_rank_alone_is_described_so) {
  EXPECT_EQ(describe(*cut(std::vector<Place>{{0, 0}}, levels_of(kLayouts[0]))), "one rank");
}

/// Checks the properties of every team and every layout.
void check(const std::vector<Place>& places, const char* sbgp) {
  const auto made = cut(places, levels_of(sbgp));
  ASSERT_TRUE(made) << made.error().context;
  const auto& hierarchy = *made;
  EXPECT_EQ(hierarchy, *cut(places, levels_of(sbgp))) << "the same at every rank";
  std::vector<std::uint32_t> entering(places.size());
  for (std::uint32_t rank = 0; rank < entering.size(); ++rank) entering[rank] = rank;
  for (const auto& level : hierarchy.levels) {
    std::vector<std::uint32_t> all, leaders;
    for (std::size_t i = 0; i < level.subgroups.size(); ++i) {
      const auto& members = level.subgroups[i].members;
      ASSERT_FALSE(members.empty());
      EXPECT_TRUE(std::is_sorted(members.begin(), members.end())) << "the order of ranks is kept";
      for (const auto rank : members) {
        EXPECT_EQ(level.subgroup_of[rank], static_cast<std::int32_t>(i));
        EXPECT_TRUE(level.level.sbgp == Sbgp::p2p || places[rank].host == places[members.front()].host);
      }
      all.insert(all.end(), members.begin(), members.end());
      leaders.push_back(members.front());
    }
    EXPECT_TRUE(std::is_sorted(leaders.begin(), leaders.end()));
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, entering) << "each rank that still leads is in exactly one subgroup, and nobody else is";
    EXPECT_EQ(static_cast<std::size_t>(std::count(level.subgroup_of.begin(), level.subgroup_of.end(), -1)),
              places.size() - entering.size());
    entering = leaders;
  }
  EXPECT_EQ(entering, std::vector<std::uint32_t>{0}) << "one rank is left, the lowest";
}

TEST(Hierarchy, a_hundred_and_forty_four_ranks_on_two_socket_hosts) {
  for (const auto by : {MapBy::core, MapBy::host, MapBy::socket}) {
    const auto places = two_socket_hosts(4, 18, by);
    ASSERT_EQ(places.size(), 144U);
    for (const char* sbgp : kLayouts) {
      SCOPED_TRACE(sbgp);
      check(places, sbgp);
    }
    EXPECT_EQ(describe(*cut(places, levels_of(kLayouts[0]))), "basesmsocket 8 x 18, basesmuma 4 x 2, p2p 1 x 4");
    EXPECT_EQ(describe(*cut(places, levels_of(kLayouts[2]))), "basesmsocket 8 x 18, p2p 1 x 8");
  }
}

TEST(Hierarchy, random_teams_and_parts_of_them) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random{seed};
    std::vector<Place> places(1 + random.below(168));
    const int hosts = 1 + static_cast<int>(random.below(9));
    for (auto& place : places) {
      place.host = static_cast<int>(random.below(static_cast<std::uint64_t>(hosts) + 1)) - 1;
      place.socket = random.below(50) == 0 ? -1 : static_cast<int>(random.below(3));
      if (random.below(40) != 0) place.numa = 4 * std::max(place.socket, 0) + static_cast<int>(random.below(4));
    }
    std::vector<Place> part;  // a subcommunicator: some ranks, in another order
    for (const auto& place : places)
      if (random.below(3) != 0)
        part.insert(part.begin() + static_cast<std::ptrdiff_t>(random.below(part.size() + 1)), place);
    for (const char* sbgp : kLayouts) {
      check(places, sbgp);
      if (!part.empty()) check(part, sbgp);
    }
  }
}

}  // namespace
}  // namespace sumac::topo
