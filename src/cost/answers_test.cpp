// Selection must not move unnoticed: what the threshold of the tree, the choice of src/p2p and `sumac fabric bounds`
// answer on a grid of fabrics, ranks and sizes stands in a golden file.
#include <gtest/gtest.h>

#include "base/test_golden.hpp"
#include "cost/bounds.hpp"
#include "p2p/choose.hpp"

namespace sumac::cost {
namespace {

using coll::Kind;

constexpr Kind kKinds[] = {Kind::barrier,
                           Kind::allreduce,
                           Kind::reduce,
                           Kind::bcast,
                           Kind::allgather,
                           Kind::allgatherv,
                           Kind::reduce_scatter_block,
                           Kind::gather,
                           Kind::scatter,
                           Kind::alltoall};

std::string p2p_answers() {
  const struct {
    const char* name;
    p2p::Costs costs;
  } networks[] = {
      {"lan", {30e-6, 3e-6, 8 / 10e9, 8 / 10e9, 8 / 10e9}},
      {"far", {2e-3, 5e-6, 8 / 1e9, 8 / 1e9, 8 / 1e9}},
      {"crowded", {300e-6, 290e-6, 8 / 200e6, 8 / 200e6, 8 / 200e6}},
      {"stored", {330e-6, 170e-6, 43e-9, 43e-9, 98e-9}},
      {"narrow", {330e-6, 170e-6, 43e-9, 95e-9, 98e-9}},
  };
  std::string out;
  for (const auto& network : networks)
    for (const std::uint32_t size : {2u, 5u, 8u, 16u, 100u})
      for (const bool reproducible : {false, true})
        for (const Kind kind : kKinds) {
          if (reproducible && kind != Kind::allreduce && kind != Kind::reduce_scatter_block) continue;
          out += fmt::format("p2p {} {} ranks{} {}:", network.name, size, reproducible ? " reproducible" : "",
                             to_string(kind));
          for (const std::uint64_t bytes : {8u, 16u << 10, 17u << 10, 1u << 20}) {
            const auto all =
                p2p::candidates({kind, bytes}, {.size = size, .reproducible = reproducible}, network.costs);
            out += fmt::format(" {} {:.9g}", to_string(all[0].algorithm), all[0].seconds);
          }
          out += '\n';
        }
  return out;
}

std::string tree_answers() {
  std::string out;
  for (const std::uint32_t hosts : {2u, 5u, 8u, 64u})
    for (const std::uint64_t rate : {60'000'000ull, 10'000'000'000ull})
      for (const std::uint64_t hop_ns : {30'000ull, 1'000'000ull})
        for (const std::uint32_t rails : {1u, 2u}) {
          WaysFabric fabric;
          fabric.hosts = hosts, fabric.port_rate_bits_per_s = rate, fabric.hop_delay_ns = hop_ns, fabric.rails = rails;
          const std::pair<const char*, WaysFabric> ways[] = {
              {"none", fabric},
              {"switches", with_nodes_at_switches(fabric)},
              {"1 spare", with_spare_hosts(fabric, 1)},
              {"3 spare", with_spare_hosts(fabric, 3)},
              {"1 of the hosts", with_nodes_on_hosts(fabric, 1)},
              {"all hosts", with_nodes_on_hosts(fabric, hosts)},
          };
          for (const auto& [name, way] : ways) {
            out += fmt::format("tree {} hosts {} bit/s {} ns {} rails, {}:", hosts, rate, hop_ns, rails, name);
            for (const Kind kind : kKinds) {
              const auto most = tree_bytes_max(way, kind);
              out += most == kNoLimit ? " any" : fmt::format(" {}", most);
            }
            const auto line = tree_line(way);
            out += fmt::format(" | {:.9g} {:.9g} | {}\n", line.fixed_s, line.per_byte_s, explain(way));
          }
          out += "own:";
          for (const Kind kind : kKinds)
            for (const auto& [name, line] : own_ways(fabric, kind))
              out += fmt::format(" {} {:.9g} {:.9g}", name, line.fixed_s, line.per_byte_s);
          const auto ring = ring_line(fabric);
          out += fmt::format(" ring {:.9g} {:.9g}\n", ring.fixed_s, ring.per_byte_s);
        }
  return out;
}

TEST(Answers, OfTheChoiceAmongMethodsStayAsTheyAre) { test::expect_golden("src/cost/testdata/p2p.txt", p2p_answers()); }
TEST(Answers, OfTheThresholdAndTheBoundsStayAsTheyAre) {
  test::expect_golden("src/cost/testdata/tree.txt", tree_answers());
}

}  // namespace
}  // namespace sumac::cost
