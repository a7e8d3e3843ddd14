// Layouts and schedules without memory or threads: all ranks' phases are played against each other with sets instead of
// data. So a schedule that waits for ever, forgets a rank or counts one twice fails here, even with 144 ranks.
#include "team/schedule.hpp"

#include <gtest/gtest.h>

#include <map>

#include "reduce/reduce.hpp"
#include "team/reduce_scatter.hpp"
#include "team/select.hpp"

namespace sumac::team {
namespace {

/// Returns `hosts` hosts of `sockets` sockets with `cores` ranks each, with ranks spread cyclically or one host after
/// the other.
std::vector<topo::Place> places(int hosts, int sockets, int cores, bool cyclic = false) {
  std::vector<topo::Place> all;
  const int n = hosts * sockets * cores;
  for (int r = 0; r < n; ++r) {
    const int host = cyclic ? r % hosts : r / (sockets * cores);
    const int local = cyclic ? r / hosts : r % (sockets * cores);
    all.push_back({host, local / cores, local / cores, local});
  }
  return all;
}

std::vector<Layout> layouts(const std::vector<topo::Place>& where, std::string_view sbgp) {
  const auto levels = topo::parse_levels(sbgp, "").value();
  std::vector<Layout> all;
  for (int r = 0; r < static_cast<int>(where.size()); ++r) all.push_back(lay_out(where, levels, r).value());
  return all;
}

/// Counts how often each rank's values are in a buffer.
using Sum = std::map<int, int>;

class Play {
 public:
  Play(const std::vector<Layout>& all, coll::Kind kind, int root, bool by_steps) : all_(all), coll_(kind), root_(root) {
    for (const auto& layout : all) {
      Rank rank;
      rank.plan = schedule(layout, kind, root, by_steps, false);
      rank.buffers[Where::user_in] = {{layout.rank, 1}};
      if (kind == coll::Kind::bcast && layout.rank == root) rank.buffers[Where::user_out] = {{root, 1}};
      ranks_.push_back(std::move(rank));
    }
  }

  /// Returns "" or a description of the fault.
  std::string run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r) moved = step(static_cast<int>(r)) || moved;
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (!phases(static_cast<int>(r)).empty()) return fmt::format("rank {} waits for ever", r);
      if (const auto fault = check(static_cast<int>(r)); !fault.empty()) return fault;
    }
    return {};
  }

 private:
  struct Rank {
    Schedule plan;
    std::size_t done = 0;  ///< The phases that are done: before, across, after.
    std::map<Where, Sum> buffers;
  };
  struct Next {
    bool is_across = false;
    Phase phase;
    bool empty() const { return !is_across && phase.group < 0; }
  };

  Next phases(int r) const {
    const Rank& rank = ranks_[static_cast<std::size_t>(r)];
    std::size_t at = rank.done;
    if (at < rank.plan.before.count) return {false, rank.plan.before.phases[at]};
    at -= rank.plan.before.count;
    if (rank.plan.goes_across) {
      if (at == 0) return {true, rank.plan.across};
      --at;
    }
    if (at < rank.plan.after.count) return {false, rank.plan.after.phases[at]};
    return {};
  }

  /// Runs rank r's next phase if all its members are ready.
  bool step(int r) {
    const Next next = phases(r);
    if (next.empty()) return false;
    std::vector<int> members;
    if (next.is_across) {
      for (const auto& island : all_[static_cast<std::size_t>(r)].islands) members.push_back(island.front());
    } else {
      members = all_[static_cast<std::size_t>(r)].groups[static_cast<std::size_t>(next.phase.group)].members;
    }
    coll::Kind kind = coll::Kind::barrier;
    int root = 0;
    std::vector<std::pair<Where, Where>> buffers;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Next other = phases(members[i]);
      if (other.empty() || other.is_across != next.is_across) return false;
      if (!next.is_across &&
          all_[static_cast<std::size_t>(members[i])].groups[static_cast<std::size_t>(other.phase.group)].members !=
              members)
        return false;
      if (i == 0) {
        kind = other.phase.kind;
        root = other.phase.root;
      }
      EXPECT_EQ(kind, other.phase.kind) << "members of one group disagree";
      EXPECT_EQ(root, other.phase.root);
      buffers.emplace_back(other.phase.in, other.phase.out);
    }
    Sum sum;
    for (std::size_t i = 0; i < members.size(); ++i) {
      auto& rank = ranks_[static_cast<std::size_t>(members[i])];
      if (kind == coll::Kind::bcast) {
        if (static_cast<int>(i) == root) sum = rank.buffers[buffers[i].second];
      } else {
        for (const auto& [who, times] : rank.buffers[buffers[i].first]) sum[who] += times;
      }
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
      auto& rank = ranks_[static_cast<std::size_t>(members[i])];
      const bool receives = kind != coll::Kind::reduce || static_cast<int>(i) == root;
      if (receives) {
        EXPECT_NE(buffers[i].second, Where::none);
        rank.buffers[buffers[i].second] = sum;
      }
      ++rank.done;
    }
    return true;
  }

  std::string check(int r) {
    Sum wanted;
    if (coll_ == coll::Kind::bcast) {
      wanted[root_] = 1;
    } else {
      if (coll_ == coll::Kind::reduce && r != root_) return {};
      for (std::size_t k = 0; k < ranks_.size(); ++k) wanted[static_cast<int>(k)] = 1;
    }
    auto& rank = ranks_[static_cast<std::size_t>(r)];
    if (rank.buffers[Where::user_out] == wanted) return {};
    std::string text = fmt::format("rank {} has {} ranks' values", r, rank.buffers[Where::user_out].size());
    for (const auto& [who, times] : rank.buffers[Where::user_out])
      if (times != 1) text += fmt::format(", {} times those of {}", times, who);
    return text;
  }

  const std::vector<Layout>& all_;
  const coll::Kind coll_;
  const int root_;
  std::vector<Rank> ranks_;
};

struct Case {
  const char* name;
  std::vector<topo::Place> where;
  const char* sbgp;
  std::size_t islands;
  bool has_steps;  ///< For rank 0's island.
};

std::vector<Case> cases() {
  std::vector<topo::Place> ragged;  // Hosts of 5, 1 and 3 ranks; sockets of 4 and 1, 1, 2 and 1.
  for (const auto& [host, socket] :
       std::vector<std::pair<int, int>>{{0, 0}, {1, 0}, {0, 0}, {0, 1}, {2, 0}, {0, 0}, {2, 1}, {0, 0}, {2, 0}})
    ragged.push_back({host, socket, socket, 0});
  return {
      {"three levels", places(2, 2, 4), "basesmsocket,basesmuma,p2p", 2, true},
      {"hosts and leaders", places(2, 2, 4), "basesmuma,p2p", 2, false},
      {"a leader per socket (multi-channel)", places(2, 2, 4), "basesmsocket,p2p", 4, false},
      {"every rank by itself", places(2, 2, 2), "p2p", 8, false},
      {"one host of two sockets", places(1, 2, 3), "basesmsocket,basesmuma,p2p", 1, true},
      {"one host of one socket", places(1, 1, 4), "basesmsocket,basesmuma,p2p", 1, false},
      {"one rank per socket: the leaders are all ranks", places(2, 4, 1), "basesmsocket,basesmuma,p2p", 2, false},
      {"ranks dealt out to hosts in turn", places(3, 2, 2, true), "basesmsocket,basesmuma,p2p", 3, true},
      {"hosts and sockets of all sizes", ragged, "basesmsocket,basesmuma,p2p", 3, true},
      {"sockets of all sizes, each with a leader", ragged, "basesmsocket,p2p", 5, false},
      {"144 ranks on two-socket hosts", places(4, 2, 18), "basesmsocket,basesmuma,p2p", 4, true},
      {"144 ranks, multi-channel", places(4, 2, 18), "basesmsocket,p2p", 8, false},
      {"144 ranks dealt out in turn", places(4, 2, 18, true), "basesmsocket,basesmuma,p2p", 4, true},
  };
}

TEST(Schedule, EveryRankGetsEverybodysValuesOnce) {
  for (const auto& row : cases()) {
    SCOPED_TRACE(row.name);
    const auto all = layouts(row.where, row.sbgp);
    EXPECT_EQ(all[0].islands.size(), row.islands);
    EXPECT_EQ(all[0].has_steps, row.has_steps);
    for (const bool by_steps : {false, true}) {
      EXPECT_EQ("", Play(all, coll::Kind::barrier, 0, by_steps).run());
      EXPECT_EQ("", Play(all, coll::Kind::allreduce, 0, by_steps).run());
      const int n = static_cast<int>(all.size());
      for (int root = 0; root<n; root += n> 20 ? 13 : 1) {
        SCOPED_TRACE(fmt::format("root {}, by steps {}", root, by_steps));
        EXPECT_EQ("", Play(all, coll::Kind::reduce, root, by_steps).run());
        EXPECT_EQ("", Play(all, coll::Kind::bcast, root, by_steps).run());
      }
    }
  }
}

TEST(Layout, RanksOfAHostAgreeOnTheGroupsOfTheirSegment) {
  for (const auto& row : cases()) {
    SCOPED_TRACE(row.name);
    const auto all = layouts(row.where, row.sbgp);
    std::map<int, const Layout*> first_of_host;
    for (const auto& layout : all) {
      const auto [at, is_new] = first_of_host.emplace(layout.host(), &layout);
      if (is_new) continue;
      ASSERT_EQ(layout.groups.size(), at->second->groups.size());
      for (std::size_t g = 0; g < layout.groups.size(); ++g)
        EXPECT_EQ(layout.groups[g].members, at->second->groups[g].members);
      EXPECT_EQ(layout.host_members, at->second->host_members);
    }
  }
}

TEST(Layout, OneHundredFortyFourRanksOnTwoSocketHosts) {
  const auto all = layouts(places(4, 2, 18), "basesmsocket,basesmuma,p2p");
  EXPECT_EQ(all[0].words, "basesmsocket 8 x 18, basesmuma 4 x 2, p2p 1 x 4");
  EXPECT_EQ(all[37].island_members().front(), 36);
  EXPECT_EQ(all[0].groups.size(), 8u) << "the host, its two sockets, and their leaders, each for both directions";
}

TEST(Layout, ATeamThatIsWiderThanItsLevelsIsRefused) {
  const auto levels = topo::parse_levels("basesmuma", "").value();
  const auto refused = lay_out(places(2, 1, 2), levels, 0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().context.find("HCOLL_SBGP=basesmuma"), std::string::npos) << refused.error().context;
  EXPECT_TRUE(lay_out(places(1, 1, 2), levels, 0));
}

TEST(Select, WaysAndReasons) {
  const Shape one{}, sockets{.has_steps = true}, hosts{.islands = 2, .island_size_max = 4},
      lone{.islands = 4, .island_size_max = 1}, exchange{.islands = 2, .island_size_max = 4, .exchange_max = 64},
      lone_exchange{.islands = 4, .island_size_max = 1, .exchange_max = 64},
      crowded{.has_steps = true, .crowded = true};
  const struct {
    const char* name;
    Shape shape;
    Question question;
    Choice choice;
  } rows[] = {
      {"one host", one, {coll::Kind::allreduce, 8}, {Way::host, false, Why::one_host}},
      {"a scan over hosts whose ranks follow each other",
       {.islands = 2, .island_size_max = 4, .is_contiguous = true},
       {.kind = coll::Kind::scan, .bytes = 8, .across = Across::next},
       {Way::leaders, false, Why::across_next}},
      {"a scan over hosts in turns",
       hosts,
       {.kind = coll::Kind::scan, .bytes = 8, .across = Across::tree, .values_can_travel = true},
       {Way::pass, false, Why::scattered}},
      {"a scan over hosts in turns, nobody else does it",
       {.islands = 2, .island_size_max = 4, .has_next = false},
       {.kind = coll::Kind::scan, .bytes = 8, .across = Across::next, .values_can_travel = true},
       {Way::leaders, false, Why::by_values, Sums::by_values}},
      {"a scan with the same bits anywhere",
       {.islands = 2, .island_size_max = 4, .is_canonical = true, .is_contiguous = true},
       {.kind = coll::Kind::scan,
        .bytes = 8,
        .across = Across::tree,
        .in_order = true,
        .adds_canonically = true,
        .values_can_travel = true},
       {Way::leaders, false, Why::by_values, Sums::by_values}},
      {"switched off", one, {coll::Kind::allreduce, 8, true}, {Way::pass, false, Why::disabled}},
      {"two sockets, small", sockets, {coll::Kind::allreduce, kStepBytesMax}, {Way::host, true, Why::by_domain}},
      {"two sockets, large",
       sockets,
       {coll::Kind::allreduce, kStepBytesMax + 1},
       {Way::host, false, Why::too_large_by_domain}},
      {"two sockets, large, asked for",
       sockets,
       {coll::Kind::bcast, 1 << 20, false, Steps::always},
       {Way::host, true, Why::by_domain}},
      {"two sockets, not wanted",
       sockets,
       {coll::Kind::barrier, 0, false, Steps::never},
       {Way::host, false, Why::one_host}},
      {"two sockets, more ranks than processors", crowded, {coll::Kind::barrier, 0}, {Way::host, false, Why::crowded}},
      {"no leaders in an alltoall", sockets, {coll::Kind::alltoall, 8}, {Way::host, false, Why::one_host}},
      {"several hosts",
       hosts,
       {coll::Kind::bcast, 8, false, Steps::automatic, Across::next},
       {Way::leaders, false, Why::across_next}},
      {"several hosts and a tree",
       hosts,
       {coll::Kind::bcast, 8, false, Steps::automatic, Across::tree},
       {Way::tree, false, Why::across_tree}},
      {"several hosts, nobody between them", hosts, {coll::Kind::bcast, 8}, {Way::pass, false, Why::no_across}},
      {"alltoall over hosts",
       hosts,
       {coll::Kind::alltoall, 8, false, Steps::automatic, Across::tree},
       {Way::pass, false, Why::no_hierarchy}},
      {"alltoall over hosts, a block at the limit",
       exchange,
       {coll::Kind::alltoall, 64, false, Steps::automatic, Across::next},
       {Way::leaders, false, Why::by_leaders}},
      {"alltoall over hosts, a block beyond it",
       exchange,
       {coll::Kind::alltoall, 65, false, Steps::automatic, Across::next},
       {Way::pass, false, Why::no_hierarchy}},
      {"alltoallv over hosts, block by block",
       exchange,
       {coll::Kind::alltoallv, 0, false, Steps::automatic, Across::next},
       {Way::leaders, false, Why::some_direct}},
      {"alltoallv over hosts, not wanted",
       hosts,
       {coll::Kind::alltoallv, 0, false, Steps::automatic, Across::next},
       {Way::pass, false, Why::no_hierarchy}},
      {"alltoall over hosts of one rank",
       lone_exchange,
       {coll::Kind::alltoall, 8, false, Steps::automatic, Across::next},
       {Way::pass, false, Why::nothing_inside}},
      {"reduce_scatter_block over hosts",
       hosts,
       {coll::Kind::reduce_scatter_block, 8, false, Steps::automatic, Across::next},
       {Way::leaders, false, Why::across_next}},
      {"reduce_scatter_block over hosts and a tree",
       hosts,
       {coll::Kind::reduce_scatter_block, 8, false, Steps::automatic, Across::tree},
       {Way::tree, false, Why::across_tree}},
      {"a rank per host",
       lone,
       {coll::Kind::allreduce, 8, false, Steps::automatic, Across::next},
       {Way::pass, false, Why::nothing_inside}},
      {"a rank per host and a tree",
       lone,
       {coll::Kind::allreduce, 8, false, Steps::automatic, Across::tree},
       {Way::tree, false, Why::across_tree}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Choice choice = choose(row.shape, row.question);
    EXPECT_EQ(to_string(choice.way), to_string(row.choice.way));
    EXPECT_EQ(choice.by_steps, row.choice.by_steps);
    EXPECT_EQ(words_for(choice.why), words_for(row.choice.why));
  }
}

TEST(Select, TheLimitOfABlockComesDownWhereTheLeaderWouldHoldTooMuch) {
  EXPECT_EQ(exchange_limit(1024, 8, 64), 1024u);
  EXPECT_EQ(exchange_limit(1024, 64, 1024), 1024u);
  EXPECT_EQ(exchange_limit(1024, 64, 4096), 256u);
  EXPECT_EQ(exchange_limit(0, 2, 4), 0u);
}

/// A leader's own block may end chunks before another one's. Its address must not go on: what is dealt may lie there, and equal addresses
/// mean "in place".
TEST(ReduceScatter, NoPartOfABlockLiesBehindTheUsersBuffer) {
  const coll::Fold fold{.element_bytes = 4, .kernel = reduce::kernel_for(Op::sum, Dtype::int32)};
  for (const auto& layout : layouts(places(2, 1, 3), "basesmuma,p2p")) {
    std::vector<int> counts(6), displacements(6);
    for (int r = 0; r < 6; ++r) counts[static_cast<std::size_t>(r)] = r % 3 == layout.rank % 3 ? 100 : 1000;
    for (std::size_t r = 1; r < 6; ++r) displacements[r] = displacements[r - 1] + counts[r - 1];
    std::vector<int> in(static_cast<std::size_t>(displacements[5] + counts[5])), out(100);
    coll::Operation whole{
        .kind = coll::Kind::reduce_scatter, .in = in.data(), .out = out.data(), .bytes = in.size() * 4, .fold = &fold};
    whole.in_blocks = {counts.data(), displacements.data(), 4};
    ReduceScatter scatter(layout);
    const std::size_t chunks = scatter.begin(whole, true, 6 * 128, 2);
    ASSERT_GT(chunks, 25U);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      if (layout.leads()) {
        ASSERT_TRUE(scatter.arrived(chunk));
      }
      coll::Operation deal{.kind = coll::Kind::alltoallv};
      scatter.fill({.errand = Errand::deal}, chunk, deal);
      const auto* const at = static_cast<const std::byte*>(deal.out);
      const auto* const begin = reinterpret_cast<const std::byte*>(out.data());
      const std::size_t bytes = deal.out_blocks.bytes(0);
      EXPECT_EQ(bytes, chunk < 3 ? 128U : chunk == 3 ? 16U : 0U);
      EXPECT_EQ(at == begin + chunk * 128, bytes > 0) << "rank " << layout.rank << " chunk " << chunk;
      EXPECT_FALSE(deal.in_place());
    }
  }
}

}  // namespace
}  // namespace sumac::team
