#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "manager/test_world.hpp"

namespace sumac::manager {
namespace {

TEST(Status, has_the_versions_of_nodes_and_sharpds) {
  World world;
  world.up();
  auto node = test_register("an-leaf1");
  node.set_release(std::string(200, 'v'));
  world.core.node_stream_ended(2, world.now);
  world.core.node_registers(20, node, world.now);
  for (std::uint64_t life = 1; life <= 12; ++life) {
    auto host = test_host(life << 32);
    host.set_host("h" + std::to_string(life));
    host.set_release(life == 5 ? "0.0.9" : "0.1.0");
    world.core.host_registers(500 + life, host, world.now);
  }
  const auto status = nlohmann::json::parse(world.core.status_json(world.now));
  std::map<std::string, std::string> nodes;
  for (const auto& each : status.at("nodes")) nodes[each.at("name")] = each.value("version", "");
  EXPECT_EQ(nodes.at("an-leaf1"), std::string(kReleaseMax, 'v'));
  std::map<std::string, nlohmann::json> versions;
  for (const auto& each : status.at("sharpd_versions")) versions[each.at("version")] = each;
  EXPECT_EQ(versions.at("0.0.9").at("some"), nlohmann::json::array({"h5"}));
  EXPECT_EQ(versions.at("0.1.0").at("hosts").get<int>(), 11);
  EXPECT_EQ(versions.at("0.1.0").at("some").size(), 8U) << "ten thousand hosts are not listed";
}

}  // namespace
}  // namespace sumac::manager
