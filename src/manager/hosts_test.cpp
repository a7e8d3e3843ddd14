// The sharpds of hosts: names that two have, and hosts that the fabric lacks.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "manager/test_world.hpp"

namespace sumac::manager {
namespace {

std::vector<std::string> texts_of(const Actions& actions) {
  std::vector<std::string> texts;
  for (const auto& say : only<Say>(actions)) texts.push_back(say.text);
  return texts;
}

TEST(Hosts, of_two_sharpds_with_one_name_both_are_named_and_other_names_are_not) {
  World world;
  auto first = test_host(100), second = test_host(101), other = test_host(102);
  first.set_pid(11);
  second.set_pid(22);
  other.set_host("h2");
  EXPECT_TRUE(texts_of(world.core.host_registers(100, first, world.now)).empty());
  EXPECT_THAT(texts_of(world.core.host_registers(101, second, world.now)),
              testing::ElementsAre(testing::HasSubstr("host h1 has two sharpds, pid 11 and pid 22: give each")));
  EXPECT_TRUE(texts_of(world.core.host_registers(102, other, world.now)).empty());
  world.core.host_stream_ended(100, world.now);
  EXPECT_TRUE(texts_of(world.core.host_registers(103, test_host(101), world.now)).empty()) << "the same process again";
}

TEST(Hosts, that_the_fabric_lacks_learn_it_and_learn_when_it_has_them) {
  World world;
  auto who = test_host(100);
  who.set_host("h9");
  const auto place_in = [](const Actions& actions) -> std::optional<bool> {
    std::optional<bool> found;
    for (const auto& to : only<ToHost>(actions))
      if (to.message.has_place()) found = to.message.place().in_fabric();
    return found;
  };
  EXPECT_EQ(place_in(world.core.host_registers(100, who, world.now)), false);
  EXPECT_EQ(nlohmann::json::parse(world.core.status_json(world.now))["sharpds_elsewhere"], nlohmann::json({"h9"}));
  auto fabric = test_fabric();
  fabric.hosts.push_back(fabric.hosts.back());
  fabric.hosts.back().name = "h9";
  EXPECT_EQ(place_in(world.core.fabric_changes(fabric, world.now)), true);
  EXPECT_EQ(place_in(world.core.fabric_changes(fabric, world.now)), std::nullopt) << "no news";
  EXPECT_EQ(place_in(world.core.host_registers(101, test_host(101), world.now)), std::nullopt);
}

TEST(Core, a_job_that_begins_while_its_host_leaves_the_fabric_is_granted) {
  World world;
  world.up();
  world.begin(100, test_begin(7));
  auto fabric = test_fabric();
  fabric.hosts.pop_back();
  world.note(world.core.fabric_changes(fabric, world.now));
  std::vector<ToHost> answers;
  for (const StreamId node : {1u, 2u, 3u})
    for (auto& answer : answers_in(world.ack(node))) answers.push_back(std::move(answer));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].message.has_granted());
}

}  // namespace
}  // namespace sumac::manager
