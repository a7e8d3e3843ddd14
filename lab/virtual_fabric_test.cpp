#include "lab/virtual_fabric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sumac::lab {
namespace {

constexpr std::int64_t kUs = 1000;

/// Makes h1 - s1 - s2 - h2: three links in a row. 1 Gbit/s is 8 ns a byte.
Plan three_links(topo::LinkSpec spec) {
  topo::Fabric fabric;
  fabric.name = "line";
  fabric.switches = {"s1", "s2"};
  fabric.links = {{"s1", "s2", spec}};
  topo::Host h1;
  h1.name = "h1";
  h1.leaf = "s1";
  h1.link = spec;
  auto h2 = h1;
  h2.name = "h2";
  h2.leaf = "s2";
  fabric.hosts = {h1, h2};
  fabric.nodes = {{"an", {"s1", ""}, {}}, {"an2", {"s1", ""}, {}}};
  return make_plan(fabric);
}

constexpr std::size_t kToAll = 99;

class Fabric {
 public:
  explicit Fabric(Plan plan) : plan_(std::move(plan)), fabric_(plan_) {}

  /// Sends a train of `segments` frames of `bytes` each; 1: a frame.
  void send(std::size_t from, std::size_t to, std::uint32_t bytes, std::int64_t at_ns, std::uint32_t segments = 1) {
    Frame* frame = pool_.take(64);
    frame->bytes = 64;
    if (to == kToAll) {
      frame->flood = plan_.floods[from].data();
      frame->at = 0;
    } else {
      const auto& path = plan_.path(from, to);
      frame->flood = nullptr;
      frame->path = path.data();
      frame->hops = static_cast<std::uint16_t>(path.size());
      frame->to = static_cast<std::uint16_t>(to);
    }
    frame->wire_bytes = bytes * segments;
    frame->first_segment_bytes = frame->last_segment_bytes = bytes;
    fabric_.enter(frame, at_ns);
  }

  /// Returns the times at which frames come out, if the process first runs at `now_ns`, and then at each deadline.
  std::vector<std::int64_t> run(std::int64_t now_ns = 0) {
    std::vector<std::int64_t> out;
    while (true) {
      fabric_.advance(now_ns, pool_);
      std::int64_t due_ns = 0;
      while (Frame* frame = fabric_.due(now_ns, due_ns)) {
        out.push_back(due_ns);
        at_.push_back(frame->to);
        pool_.give(frame);
      }
      if (fabric_.empty()) return out;
      now_ns = std::max(now_ns, fabric_.deadline_ns());
    }
  }

  std::uint64_t dropped() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < plan_.links.size(); ++i) sum += fabric_.counters(i).dropped;
    return sum;
  }
  void set_loss(std::size_t link, double loss) { fabric_.set_loss(link, loss); }
  std::uint64_t crossed(std::size_t link) const { return fabric_.counters(link).frames; }
  const std::vector<std::uint16_t>& at() const { return at_; }  ///< The ports at which they came out.
  std::uint64_t lost() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < plan_.links.size(); ++i) sum += fabric_.counters(i).lost;
    return sum;
  }

 private:
  Plan plan_;
  VirtualFabric fabric_;
  FramePool pool_;
  std::vector<std::uint16_t> at_;
};

constexpr std::size_t kH1 = 0;
constexpr std::size_t kH2 = 1;
constexpr std::size_t kNode = 2;
constexpr std::size_t kNode2 = 3;

topo::LinkSpec spec(std::int64_t delay_us, std::uint64_t rate, std::uint64_t buffer = 1U << 20, double loss = 0) {
  return {delay_us * kUs, rate, 9000, buffer, loss};
}

using Times = std::vector<std::int64_t>;

TEST(VirtualFabric, each_link_adds_its_delay) {
  Fabric fabric(three_links(spec(500, 0)));
  fabric.send(kH1, kH2, 1000, 7);
  EXPECT_EQ(fabric.run(), (Times{1'500'007}));
}

TEST(VirtualFabric, each_link_takes_a_frame_whole_before_it_passes_it_on) {
  Fabric fabric(three_links(spec(100, 1'000'000'000)));
  fabric.send(kH1, kH2, 1000, 0);
  EXPECT_EQ(fabric.run(), (Times{3 * (8 * kUs + 100 * kUs)}));
}

TEST(VirtualFabric, frames_queue_before_a_link_and_keep_their_order) {
  Fabric fabric(three_links(spec(0, 1'000'000'000)));
  for (int i = 0; i < 3; ++i) fabric.send(kH1, kH2, 1000, 0);
  EXPECT_EQ(fabric.run(), (Times{24 * kUs, 32 * kUs, 40 * kUs}));
}

TEST(VirtualFabric, times_do_not_depend_on_when_the_process_runs) {
  Fabric late(three_links(spec(100, 1'000'000'000)));
  late.send(kH1, kH2, 1000, 0);
  late.send(kH2, kH1, 500, 10 * kUs);
  late.send(kH1, kNode, 1000, 4 * kUs);
  const Times expected{120 * kUs - 4 * kUs, 322 * kUs, 324 * kUs};
  EXPECT_EQ(late.run(100 * kUs), expected);
  Fabric punctual(three_links(spec(100, 1'000'000'000)));
  punctual.send(kH1, kH2, 1000, 0);
  punctual.send(kH2, kH1, 500, 10 * kUs);
  punctual.send(kH1, kNode, 1000, 4 * kUs);
  EXPECT_EQ(punctual.run(0), expected);
}

TEST(VirtualFabric, a_link_that_is_cut_takes_frames_until_it_is_whole_again) {
  Fabric fabric(three_links(spec(500, 0)));
  fabric.set_loss(0, 1);
  fabric.send(kH1, kH2, 1000, 0);
  EXPECT_EQ(fabric.run(), Times{});
  EXPECT_EQ(fabric.lost(), 1);
  fabric.set_loss(0, 0);
  fabric.send(kH1, kH2, 1000, 7);
  EXPECT_EQ(fabric.run(), (Times{1'500'007}));
}

TEST(VirtualFabric, both_directions_of_a_link_are_apart) {
  Fabric fabric(three_links(spec(0, 1'000'000'000)));
  fabric.send(kH1, kH2, 1000, 0);
  fabric.send(kH2, kH1, 1000, 0);
  EXPECT_EQ(fabric.run(), (Times{24 * kUs, 24 * kUs}));
}

TEST(VirtualFabric, a_node_hangs_on_its_switch_without_a_link) {
  Fabric fabric(three_links(spec(100, 1'000'000'000)));
  fabric.send(kH1, kNode, 1000, 0);
  fabric.send(kNode, kNode2, 1000, 5);
  EXPECT_EQ(fabric.run(), (Times{5, 108 * kUs}));
}

TEST(VirtualFabric, a_train_overlaps_on_the_links_of_its_path) {
  Fabric fabric(three_links(spec(100, 1'000'000'000)));
  fabric.send(kH1, kH2, 1000, 0, 5);
  // The train is five frames of 8 us each: the last leaves link 1 at 40, link 2 8 us after its arrival there, link 3
  // likewise.
  EXPECT_EQ(fabric.run(), (Times{(40 + 8 + 8 + 300) * kUs}));
}

TEST(VirtualFabric, what_does_not_fit_the_buffer_is_dropped_and_counted) {
  const struct {
    const char* name;
    std::uint64_t buffer;
    std::size_t arrive;
  } rows[] = {
      {"room for all three", 3000, 3}, {"one byte too little for the third", 2999, 2}, {"room for one", 1000, 1}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Fabric fabric(three_links(spec(0, 1'000'000'000, row.buffer)));
    for (int i = 0; i < 3; ++i) fabric.send(kH1, kH2, 1000, 0);
    EXPECT_EQ(fabric.run().size(), row.arrive);
    EXPECT_EQ(fabric.dropped(), 3 - row.arrive);
  }
}

TEST(VirtualFabric, a_buffer_empties_at_the_links_rate) {
  Fabric fabric(three_links(spec(0, 1'000'000'000, 2000)));
  for (int i = 0; i < 10; ++i) fabric.send(kH1, kH2, 1000, i * 8 * kUs);
  EXPECT_EQ(fabric.run().size(), 10U);
}

TEST(VirtualFabric, a_multicast_comes_everywhere_when_a_frame_of_its_own_would) {
  Fabric fabric(three_links(spec(100, 1'000'000'000)));
  fabric.send(kH1, kToAll, 1000, 0);
  EXPECT_EQ(fabric.run(), (Times{108 * kUs, 108 * kUs, 324 * kUs}));
  EXPECT_EQ(fabric.at(), (std::vector<std::uint16_t>{kNode, kNode2, kH2}));
  // The links are: 0 s1>s2, 1 s2>s1, 2 h1>s1, 3 s1>h1, 4 h2>s2, 5 s2>h2.
  for (std::size_t link = 0; link < 6; ++link)
    EXPECT_EQ(fabric.crossed(link), link % 2 == 0 && link < 4 ? 1U : link == 5);
}

TEST(VirtualFabric, a_multicast_of_a_node_at_a_switch_waits_where_a_link_is_busy_and_nowhere_else) {
  Fabric fabric(three_links(spec(100, 1'000'000'000)));
  fabric.send(kNode2, kH1, 2000, 0);
  fabric.send(kNode, kToAll, 1000, 0);
  // The other node gets it at once; h1 after the 16 us of the frame that is being sent to it; h2 without waiting.
  EXPECT_EQ(fabric.run(), (Times{0, 116 * kUs, 124 * kUs, 216 * kUs}));
  EXPECT_EQ(fabric.at(), (std::vector<std::uint16_t>{kNode2, kH1, kH1, kH2}));
}

TEST(VirtualFabric, each_copy_of_a_multicast_is_lost_or_dropped_by_itself) {
  Fabric lossy(three_links(spec(0, 0, 1U << 20, 0.25)));
  for (int i = 0; i < 1000; ++i) lossy.send(kNode, kToAll, 100, i);
  lossy.run();
  const auto came = [&](std::size_t port) { return std::ranges::count(lossy.at(), port); };
  EXPECT_EQ(came(kNode2), 1000);
  EXPECT_NEAR(static_cast<double>(came(kH1)), 750, 60);
  EXPECT_NEAR(static_cast<double>(came(kH2)), 562, 60);
  EXPECT_EQ(lossy.at().size() + lossy.lost(), 3000U);
  Fabric full(three_links(spec(0, 1'000'000'000, 2000)));
  full.send(kNode2, kH1, 2000, 0);
  full.send(kNode, kToAll, 1000, 0);
  EXPECT_EQ(full.run().size(), 3U) << "the first itself, the other node, h2";
  EXPECT_EQ(full.dropped(), 1U);
}

TEST(VirtualFabric, losses_are_drawn_from_the_seed) {
  const auto arrivals = [](std::uint64_t seed) {
    auto plan = three_links(spec(0, 0, 1U << 20, 0.25));
    plan.seed = seed;
    Fabric fabric(plan);
    for (int i = 0; i < 1000; ++i) fabric.send(kH1, kH2, 100, i);
    const auto out = fabric.run();
    EXPECT_EQ(out.size() + fabric.lost(), 1000U);
    return out;
  };
  const auto once = arrivals(1);
  EXPECT_EQ(once, arrivals(1));
  EXPECT_NE(once, arrivals(2));
  EXPECT_GT(once.size(), 300U);  // 422 are expected: 0.75 cubed of 1000
  EXPECT_LT(once.size(), 550U);
}

}  // namespace
}  // namespace sumac::lab
