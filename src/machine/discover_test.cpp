#include "machine/discover.hpp"

#include <gtest/gtest.h>
#include <hwloc.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/test_folder.hpp"
#include "machine/hwloc_library.hpp"

namespace sumac::machine {
namespace {

namespace fs = std::filesystem;

/// Sets a variable for the duration of one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// Files of sysfs: each ends with a newline.
struct Folder : TestFolder {
  Folder() : TestFolder("machine") {}
  void write(const std::string& name, const std::string& text) const { TestFolder::write(name, text + '\n'); }
};

TEST(Discover, synthetic_machines) {
  const struct {
    const char* name;
    const char* text;
    std::uint32_t sockets, nodes, cores, cpus;
  } rows[] = {
      {"2 sockets, 4 NUMA nodes each, 16 cores each", "package:2 [numa] group:4 [numa] core:16 pu:1", 2, 8, 128, 128},
      {"4 NUMA nodes, 2 threads a core", "package:2 numa:4 l3:1 core:16 pu:2", 2, 8, 128, 256},
      {"one core", "core:1 pu:1", 0, 1, 1, 1},
      {"no L3, no package", "numa:2 core:2 pu:1", 0, 2, 4, 4},
      {"8 sockets of one core", "package:8 core:1 pu:1", 8, 1, 8, 8},
      {"memory of the whole machine beside that of the sockets", "[numa] package:2 [numa] core:2 pu:1", 2, 2, 4, 4},
      {"processors without cores", "package:2 pu:3", 2, 1, 6, 6},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Variable synthetic("HWLOC_SYNTHETIC", row.text);
    const auto machine = discover();
    ASSERT_TRUE(machine) << machine.error().context;
    EXPECT_TRUE(machine->is_described);
    EXPECT_EQ(machine->socket_count(), row.sockets);
    EXPECT_EQ(machine->numa_count(), row.nodes);
    EXPECT_EQ(machine->core_count(), row.cores);
    EXPECT_EQ(machine->cpus.size(), row.cpus);
  }
}

TEST(Discover, a_described_machine_gives_places_by_turn) {
  const Variable synthetic("HWLOC_SYNTHETIC", "package:2 numa:2 core:2 pu:2");
  const auto machine = discover();
  ASSERT_TRUE(machine) << machine.error().context;
  for (std::uint32_t local_rank = 0; local_rank < 20; ++local_rank) {
    const auto place = own_place(*machine, 3, local_rank);
    const int core = static_cast<int>(local_rank % 8);
    EXPECT_EQ(place, (topo::Place{3, core / 4, core / 2, core})) << local_rank;
  }
}

TEST(Discover, an_asymmetric_machine_from_a_file) {
  const Folder folder;
  {  // The machine has two sockets of four cores; only one core of the second is left.
    hwloc_topology_t topology = nullptr;
    ASSERT_EQ(hwloc_topology_init(&topology), 0);
    ASSERT_EQ(hwloc_topology_set_synthetic(topology, "package:2 numa:2 l2:2 core:1 pu:1"), 0);
    ASSERT_EQ(hwloc_topology_load(topology), 0);
    hwloc_bitmap_t kept = hwloc_bitmap_alloc();
    hwloc_bitmap_set_range(kept, 0, 3);
    hwloc_bitmap_set(kept, 6);
    ASSERT_EQ(hwloc_topology_restrict(topology, kept, 0), 0);
    hwloc_bitmap_free(kept);
    ASSERT_EQ(hwloc_topology_export_xml(topology, (folder.file("machine.xml")).c_str(), 0), 0);
    hwloc_topology_destroy(topology);
  }
  const Variable xml("HWLOC_XMLFILE", folder.file("machine.xml"));
  const auto machine = discover();
  ASSERT_TRUE(machine) << machine.error().context;
  EXPECT_TRUE(machine->is_described);
  ASSERT_EQ(machine->cpus.size(), 5U);
  std::vector<std::int32_t> sockets;
  for (const auto& cpu : machine->cpus) sockets.push_back(cpu.socket);
  EXPECT_EQ(sockets, (std::vector<std::int32_t>{0, 0, 0, 0, 1}));
  EXPECT_EQ(machine->cpus.back().os_index, 6);
  EXPECT_NE(machine->cpus.back().numa, machine->cpus.front().numa);
  EXPECT_EQ(own_place(*machine, 0, 4).socket, 1);
}

TEST(Discover, a_machine_without_hwloc_says_what_to_install) {
  const auto library = open_hwloc("libhwloc.so.0");
  ASSERT_FALSE(library);
  EXPECT_NE(library.error().context.find("libhwloc.so.0: cannot open"), std::string::npos) << library.error().context;
  EXPECT_NE(library.error().context.find("install it (libhwloc15"), std::string::npos) << library.error().context;
}

TEST(Discover, another_version_of_hwloc_is_refused) {
  const auto library = open_hwloc("libm.so.6");
  ASSERT_FALSE(library);
  EXPECT_NE(library.error().context.find("libm.so.6 is another version"), std::string::npos) << library.error().context;
}

TEST(Discover, a_description_that_is_none_is_named) {
  {
    const Variable synthetic("HWLOC_SYNTHETIC", "package:two");
    const auto machine = discover();
    ASSERT_FALSE(machine);
    EXPECT_NE(machine.error().context.find("HWLOC_SYNTHETIC=package:two"), std::string::npos)
        << machine.error().context;
  }
  const Variable xml("HWLOC_XMLFILE", "/nonexistent/machine.xml");
  const auto machine = discover();
  ASSERT_FALSE(machine);
  EXPECT_NE(machine.error().context.find("/nonexistent/machine.xml"), std::string::npos) << machine.error().context;
}

/// The machine has 2 sockets x 2 cores x 2 threads; node 2 has memory only, and cpu 5 is offline.
void write_sysfs(const Folder& folder, bool with_new_names) {
  folder.write("cpu/online", "0-4,6-7");
  folder.write("node/online", "0-2");
  folder.write("node/node0/cpulist", "0-1,4-5");
  folder.write("node/node1/cpulist", "2-3,6-7");
  folder.write("node/node2/cpulist", "");
  for (const int cpu : {0, 1, 2, 3, 4, 6, 7}) {
    const auto at = "cpu/cpu" + std::to_string(cpu) + "/topology/";
    const bool is_second = cpu % 4 >= 2;
    const int twin = cpu ^ 4;
    const auto threads = twin == 5 ? std::to_string(cpu) : std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4);
    folder.write(at + "physical_package_id", is_second ? "36" : "0");  // Firmware numbers sockets as it likes.
    folder.write(at + (with_new_names ? "package_cpus_list" : "core_siblings_list"), is_second ? "2-3,6-7" : "0-1,4");
    folder.write(at + (with_new_names ? "core_cpus_list" : "thread_siblings_list"), threads);
  }
  for (const auto& [index, level, type, size] :
       {std::tuple{0, 1, "Data", "48K"}, {1, 1, "Instruction", "32K"}, {2, 2, "Unified", "1024K"}}) {
    const auto at = "cpu/cpu0/cache/index" + std::to_string(index) + "/";
    folder.write(at + "level", std::to_string(level));
    folder.write(at + "type", type);
    folder.write(at + "size", size);
    folder.write(at + "coherency_line_size", "128");
  }
}

TEST(Sysfs, sockets_nodes_cores_and_caches) {
  for (const bool with_new_names : {true, false}) {
    const Folder folder;
    write_sysfs(folder, with_new_names);
    const auto machine = read_sysfs(folder.file(""), {});
    ASSERT_TRUE(machine) << machine.error().context;
    EXPECT_EQ(
        machine->cpus,
        (std::vector<topo::Cpu>{
            {0, 0, 0, 0}, {1, 0, 0, 1}, {2, 36, 1, 2}, {3, 36, 1, 3}, {4, 0, 0, 0}, {6, 36, 1, 2}, {7, 36, 1, 3}}));
    EXPECT_EQ(machine->l1d_bytes, 48U << 10);
    EXPECT_EQ(machine->l2_bytes, 1U << 20);
    EXPECT_EQ(machine->l3_bytes, 0U) << "there is none";
    EXPECT_EQ(machine->line_bytes, 128U);
    EXPECT_FALSE(machine->is_described);
  }
}

TEST(Sysfs, a_process_reads_its_own_cpus_and_means_the_same_by_them) {
  const Folder folder;
  write_sysfs(folder, true);
  const struct {
    const char* name;
    std::vector<std::int32_t> cpus;
    topo::Place place;
  } rows[] = {
      {"one core of the second socket", {6}, {0, 36, 1, 2}},
      {"both threads of a core", {2, 6}, {0, 36, 1, 2}},
      {"a socket", {2, 3, 6, 7}, {0, 36, 1, -1}},
      {"everything", {0, 1, 2, 3, 4, 6, 7}, {0, -1, -1, -1}},
      {"a cpu that is not online", {5}, {0, -1, -1, -1}},
  };
  for (const auto& row : rows) {
    CpuMask allowed;
    for (const auto cpu : row.cpus) allowed.set(static_cast<std::size_t>(cpu));
    const auto machine = read_sysfs(folder.file(""), allowed);
    if (row.cpus.front() == 5) {
      EXPECT_FALSE(machine);
      continue;
    }
    ASSERT_TRUE(machine) << machine.error().context;
    EXPECT_EQ(machine->cpus.size(), row.cpus.size());
    EXPECT_EQ(topo::place_on(*machine, row.cpus, 0), row.place) << row.name;
  }
}

TEST(Sysfs, what_is_missing_is_unknown) {
  const Folder folder;
  folder.write("cpu/online", "0-1");
  folder.write("cpu/cpu1/topology/physical_package_id", "-1");
  const auto machine = read_sysfs(folder.file(""), {});
  ASSERT_TRUE(machine) << machine.error().context;
  EXPECT_EQ(machine->cpus, (std::vector<topo::Cpu>{{0, -1, 0, 0}, {1, -1, 0, 1}}));
  for (const char* list : {"", "x", "3-1", "0-99999", "1,,2"}) {
    folder.write("cpu/online", list);
    const auto none = read_sysfs(folder.file(""), {});
    ASSERT_FALSE(none) << list;
    EXPECT_NE(none.error().context.find("online"), std::string::npos);
  }
  EXPECT_FALSE(read_sysfs("/nonexistent", {}));
}

TEST(Discover, both_readers_agree_about_this_machine) {
  const auto quick = discover(Reader::sysfs);
  const auto thorough = discover(Reader::hwloc);
  ASSERT_TRUE(quick) << quick.error().context;
  ASSERT_TRUE(thorough) << thorough.error().context;
  EXPECT_EQ(quick->cpus.size(), thorough->cpus.size());
  EXPECT_EQ(quick->core_count(), thorough->core_count());
  EXPECT_EQ(own_place(*quick, 0, 0).host, 0);
}

}  // namespace
}  // namespace sumac::machine
