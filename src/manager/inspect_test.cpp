// Checks who learns where the daemons of a job are: hosts of the job that show its key.
#include <functional>

#include "manager/test_world.hpp"

namespace sumac::manager {
namespace {

using Daemons = std::vector<std::string>;

Daemons daemons_in(const Actions& actions) {
  Daemons all;
  for (const auto& to : only<ToHost>(actions))
    for (const auto& one : to.message.job_daemons().daemons())
      all.push_back(fmt::format("{} {} {}", one.role(), one.name(), one.address()));
  return all;
}

TEST(Inspect, the_host_that_began_a_job_learns_of_all_its_daemons_and_the_others_of_that_host) {
  const Daemons whole{"host h1 10.0.0.1:1", "host h3 10.0.0.3:1", "host h4 ", "node an-root 10.0.1.1:1"};
  const struct {
    const char* name;
    StreamId stream;
    std::function<void(control::v1::JobDaemonsAsked&)> change;
    Daemons told;
  } rows[] = {
      {"the host that began it", 100, {}, whole},
      {"another of its hosts", 103, {}, {"host h1 10.0.0.1:1"}},
      {"a host that is not of the job", 102, {}, {}},
      {"without the key", 100, [](auto& asked) { asked.set_job_key(std::string(16, 'x')); }, {}},
      {"half a key", 100, [](auto& asked) { asked.set_job_key("half"); }, {}},
      {"of another job", 100, [](auto& asked) { asked.set_job_id(8); }, {}},
  };
  World world;
  world.up();
  world.core.node_inspectable(1, "10.0.1.1:1");
  const auto granted = world.begin_and_ack(100, test_begin(7, {"h1", "h3", "h4"}));
  ASSERT_TRUE(granted && granted->has_granted());
  for (const StreamId stream : {StreamId{102}, StreamId{103}}) {
    auto who = test_host(stream);
    who.set_host("h" + std::to_string(stream - 100));
    world.core.host_registers(stream, who, world.now);
  }
  world.core.host_inspectable(100, "10.0.0.1:1");
  world.core.host_inspectable(103, "10.0.0.3:1");
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    control::v1::JobDaemonsAsked asked;
    asked.set_job_id(7);
    asked.set_job_key(granted->granted().job_key());
    if (row.change) row.change(asked);
    EXPECT_EQ(daemons_in(world.core.job_daemons(row.stream, asked)), row.told);
  }
  EXPECT_EQ(only<Refuse>(world.core.job_daemons(999, {})).size(), 1u) << "a stream that has not registered";
}

}  // namespace
}  // namespace sumac::manager
