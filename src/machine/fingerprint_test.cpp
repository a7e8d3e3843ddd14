#include "machine/fingerprint.hpp"

#include <gtest/gtest.h>

#include "machine/discover.hpp"

namespace sumac::machine {
namespace {

topo::Machine two_cores() {
  topo::Machine machine;
  machine.cpus = {{0, 0, 0, 0}, {1, 0, 0, 1}};
  machine.l1d_bytes = 48 << 10;
  machine.l2_bytes = 1 << 20;
  machine.l3_bytes = 32 << 20;
  return machine;
}

TEST(Fingerprint, x86_has_the_model_and_the_caches) {
  const std::string cpuinfo =
      "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n"
      "stepping\t: 1\nmicrocode\t: 0x1\ncpu MHz\t\t: 2596.122\n\nprocessor\t: 1\nmodel\t\t: 3\n";
  EXPECT_EQ(fingerprint(two_cores(), cpuinfo),
            "AuthenticAMD AMD EPYC 26 2 1, 1 socket, 1 numa, 2 cores, 2 cpus, l1d 48K, l2 1M, l3 32M");
}

TEST(Fingerprint, arm_and_unknown) {
  const std::string arm =
      "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\nCPU revision\t: 1\n";
  EXPECT_EQ(fingerprint(two_cores(), arm).rfind("0x41 0xd0c 1, 1 socket", 0), 0U) << fingerprint(two_cores(), arm);
  topo::Machine bare;
  bare.cpus = {{0, topo::kUnknown, 0, 0}};
  EXPECT_EQ(fingerprint(bare, ""), "unknown cpu, 0 sockets, 1 numa, 1 core, 1 cpu, l1d ?, l2 ?, l3 ?");
}

TEST(Fingerprint, this_machine_has_the_same_one_twice) {
  const auto machine = discover(Reader::sysfs);
  ASSERT_TRUE(machine) << machine.error().context;
  EXPECT_EQ(fingerprint(*machine), fingerprint(*machine));
  EXPECT_EQ(fingerprint(*machine).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace sumac::machine
