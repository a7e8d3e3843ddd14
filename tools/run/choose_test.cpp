#include "tools/run/choose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sumac::tools {
namespace {

using testing::HasSubstr;
using Way = Choice::Way;

constexpr auto kOpenMpi = LauncherFamily::open_mpi;
constexpr auto kHydra = LauncherFamily::hydra;
constexpr auto kSlurm = LauncherFamily::slurm;

const std::string kSystemMpi = "/usr/lib/libmpi.so.40.30.4";

Installed everything() {
  return {.libraries = "/opt/sumac/lib",
          .abis = {MpiAbi::open_mpi, MpiAbi::mpich, MpiAbi::standard},
          .component = true,
          .open_mpi_library = kSystemMpi,
          .open_mpi_programs = "/usr/bin"};
}

Program needs(const char* library, const std::string& path) {
  const auto abi = mpi_library(library).value_or(std::nullopt);
  const auto provider = abi == MpiAbi::standard ? std::nullopt : abi;
  return {.name = "./p", .mpi = LinkedMpi{library, path, abi, provider}};
}

Program unclear() { return {.name = "./p", .unclear = "needs no MPI library"}; }

LookedAt started_by(const char* name, LauncherFamily family, Program program) {
  return {.launcher = Launcher{.name = name, .path = "/usr/bin/" + std::string(name), .family = family, .word = 0},
          .programs = {std::move(program)}};
}

LookedAt alone(Program program) { return {.programs = {std::move(program)}}; }

TEST(Choose, the_way_into_a_program) {
  const auto system = needs("libmpi.so.40", kSystemMpi), other = needs("libmpi.so.40", "/venv/lib/libmpi.so.40");
  const auto mpich = needs("libmpich.so.12", "/usr/lib/libmpich.so.12.2"), intel = needs("libmpi.so.12", "");
  const auto standard = needs("libmpi_abi.so.1", "/x/libmpi_abi.so.1");
  auto far = started_by("mpirun", kOpenMpi, system);
  far.launcher->path = "/venv/bin/mpirun";
  auto bare = everything();
  bare.component = false;
  auto two = everything();
  two.other_component = "/usr/lib/openmpi/mca_coll_hcoll.so";
  const struct {
    const char* name;
    LookedAt looked;
    Installed installed;
    Way way;
    const char* library;
    const char* reason;
  } rows[] = {
      {"the distribution's Open MPI has the component", started_by("orterun", kOpenMpi, system), everything(),
       Way::component, "", "./p needs libmpi.so.40, that of Open MPI 4.1: its component serves it"},
      {"it comes before that of an Open MPI with HCOLL", started_by("orterun", kOpenMpi, system), two, Way::component,
       "", "serves it (it comes before the one of the same name, /usr/lib/openmpi/mca_coll_hcoll.so)"},
      {"so it has under srun", started_by("srun", kSlurm, system), everything(), Way::component, "", "its component"},
      {"and without a launcher", alone(system), everything(), Way::component, "", "its component"},
      {"another Open MPI gets the library", started_by("mpirun", kOpenMpi, other), everything(), Way::library,
       "/opt/sumac/lib/libsumac_mpi_openmpi.so",
       "./p needs libmpi.so.40 (Open MPI): the interposed library libsumac_mpi_openmpi.so serves it"},
      {"another Open MPI's launcher may bring another libmpi.so.40", far, everything(), Way::library,
       "/opt/sumac/lib/libsumac_mpi_openmpi.so", "libsumac_mpi_openmpi.so"},
      {"no component: the library", started_by("orterun", kOpenMpi, system), bare, Way::library,
       "/opt/sumac/lib/libsumac_mpi_openmpi.so", "libsumac_mpi_openmpi.so"},
      {"MPICH", started_by("mpiexec.hydra", kHydra, mpich), everything(), Way::library,
       "/opt/sumac/lib/libsumac_mpi_mpich.so",
       "./p needs libmpich.so.12 (MPICH's ABI): the interposed library libsumac_mpi_mpich.so serves it"},
      {"Intel MPI, found by its name alone", started_by("mpirun", kHydra, intel), everything(), Way::library,
       "/opt/sumac/lib/libsumac_mpi_mpich.so", "./p needs libmpi.so.12 (MPICH's ABI)"},
      {"the standard ABI, by any launcher", started_by("mpirun", kOpenMpi, standard), everything(), Way::library,
       "/opt/sumac/lib/libsumac_mpi_abi.so", "the standard ABI of MPI 5"},
      {"not known: Open MPI's launcher decides", started_by("orterun", kOpenMpi, unclear()), everything(),
       Way::component, "", "./p needs no MPI library, and orterun is Open MPI's: the component"},
      {"not known: hydra decides", started_by("mpiexec.hydra", kHydra, unclear()), everything(), Way::library,
       "/opt/sumac/lib/libsumac_mpi_mpich.so", "mpiexec.hydra is hydra, the launcher of MPICH and Intel MPI"},
      {"not known, and srun starts any MPI", started_by("srun", kSlurm, unclear()), everything(), Way::component, "",
       "would serve it"},
      {"no MPI and no launcher", alone(unclear()), everything(), Way::component, "", "for what it starts"},
      {"no MPI, no launcher, no component", alone(unclear()), bare, Way::nothing, "", "nothing is set for it"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto choice = choose(row.looked, row.installed, false);
    EXPECT_EQ(choice.way, row.way);
    EXPECT_EQ(choice.library, row.library);
    EXPECT_THAT(choice.reason, HasSubstr(row.reason));
    EXPECT_TRUE(choice.warnings.empty()) << choice.warnings.front();
  }
}

TEST(Choose, the_version_of_open_mpi_stands_in_its_librarys_name) {
  EXPECT_EQ(is_open_mpi_41("/usr/lib/libmpi.so.40.30.4"), true);
  EXPECT_EQ(is_open_mpi_41("/usr/lib/libmpi.so.40.20.3"), false);
  EXPECT_EQ(is_open_mpi_41("/opt/ompi/lib/libmpi.so.40.40.7"), false);
  EXPECT_EQ(is_open_mpi_41("/conda/lib/libmpi.so.40"), std::nullopt);
  EXPECT_EQ(is_open_mpi_41(""), std::nullopt);
}

TEST(Choose, a_program_that_gets_less_than_a_person_expects_is_warned_of) {
  const auto mpich = needs("libmpi.so.12", "");
  auto own = unclear(), fixed = unclear(), narrow = needs("libmpi.so.12", ""), secure = needs("libmpi.so.12", "");
  own.has_own_mpi = true;
  fixed.is_static = true;
  narrow.foreign = "a 32-bit program";
  secure.ignores_preload = true;
  auto no_library = everything();
  no_library.abis = {MpiAbi::open_mpi};
  auto withheld = started_by("mpiexec.hydra", kHydra, mpich);
  withheld.withheld = "-genvnone";
  auto kept = started_by("srun", LauncherFamily::slurm, needs("libmpi.so.40", kSystemMpi));
  kept.withheld = "SLURM_EXPORT_ENV=NONE";
  auto two = started_by("mpirun", kHydra, mpich);
  two.programs.push_back(needs("libmpi.so.40", kSystemMpi));
  const struct {
    const char* name;
    LookedAt looked;
    Installed installed;
    Way way;
    const char* says;
  } rows[] = {
      {"static with its MPI", started_by("mpirun", kHydra, own), everything(), Way::nothing,
       "./p is linked statically with its MPI: nothing can be interposed; it runs without Sumac"},
      {"static with its MPI, alone", alone(own), everything(), Way::nothing, "linked statically with its MPI"},
      {"static and stripped", started_by("mpirun", kOpenMpi, fixed), everything(), Way::nothing,
       "./p is linked statically: nothing can be interposed"},
      {"32 bits", started_by("mpirun", kHydra, narrow), everything(), Way::nothing, "./p is a 32-bit program"},
      {"setuid", started_by("mpirun", kHydra, secure), everything(), Way::nothing, "ignores LD_PRELOAD"},
      {"the library is not installed", started_by("mpirun", kHydra, mpich), no_library, Way::nothing,
       "./p needs libmpi.so.12 (MPICH's ABI), and /opt/sumac/lib/libsumac_mpi_mpich.so is not there"},
      {"one MPI's program by another's launcher", started_by("orterun", kOpenMpi, mpich), everything(), Way::library,
       "./p needs libmpi.so.12 (MPICH's ABI), and orterun is Open MPI's: each process would be a job of one rank"},
      {"and the other way round", started_by("mpiexec.hydra", kHydra, needs("libmpi.so.40", kSystemMpi)), everything(),
       Way::component, "each process would be a job of one rank; start it with the launcher of Open MPI"},
      {"the environment does not reach it", withheld, everything(), Way::library,
       "-genvnone keeps LD_PRELOAD from ./p"},
      {"the component's variables do not reach it", kept, everything(), Way::component,
       "SLURM_EXPORT_ENV=NONE keeps Sumac's variables from ./p: it runs without Sumac, or without the tree"},
      {"two MPIs in one job", two, everything(), Way::library, "two MPIs can't be one job"},
      {"an old Open MPI", started_by("mpirun", kOpenMpi, needs("libmpi.so.20", "")), everything(), Way::nothing,
       "an Open MPI before version 3"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto choice = choose(row.looked, row.installed, false);
    EXPECT_EQ(choice.way, row.way);
    ASSERT_FALSE(choice.warnings.empty());
    EXPECT_THAT(choice.warnings.front(), HasSubstr(row.says));
    EXPECT_EQ(choice.way == Way::library, !choice.library.empty());
  }
}

TEST(Choose, a_static_or_foreign_program_without_mpi_is_nobodys_concern) {
  auto fixed = unclear(), foreign = unclear();
  fixed.is_static = true;
  foreign.foreign = "a 32-bit program";
  for (const auto& program : {fixed, foreign})
    EXPECT_TRUE(choose(alone(program), everything(), false).warnings.empty());
}

TEST(Choose, off_means_that_nothing_is_loaded) {
  const auto choice = choose(started_by("mpirun", kHydra, needs("libmpi.so.12", "")), everything(), true);
  EXPECT_EQ(choice.way, Way::nothing);
  EXPECT_THAT(choice.reason, HasSubstr("SUMAC_ENABLE=0"));
}

TEST(Choose, a_library_of_the_user_stays_behind_ours) {
  EXPECT_EQ(preload_before("/l/a.so", ""), "/l/a.so");
  EXPECT_EQ(preload_before("/l/a.so", "b.so:c.so"), "/l/a.so:b.so:c.so");
}

TEST(Choose, the_runtime_of_a_sanitizer_stays_before_our_library) {
  EXPECT_EQ(preload_before("/l/a.so", "libasan.so.8"), "libasan.so.8:/l/a.so");
  EXPECT_EQ(preload_before("/l/a.so", "b.so /gcc/libtsan.so.2::c.so"), "/gcc/libtsan.so.2:/l/a.so:b.so:c.so");
  EXPECT_EQ(preload_before("/l/a.so", "/llvm/libclang_rt.asan-x86_64.so"), "/llvm/libclang_rt.asan-x86_64.so:/l/a.so");
  EXPECT_EQ(preload_before("/l/a.so", "/libasan.so.8/b.so:libasan_tools.so"),
            "/l/a.so:/libasan.so.8/b.so:libasan_tools.so");
}

TEST(LinkedMpi, libraries_are_known_by_name) {
  const struct {
    const char* name;
    std::optional<std::optional<MpiAbi>> abi;
  } rows[] = {
      {"libmpi.so.40", MpiAbi::open_mpi},    {"libmpi_usempif08.so.40", MpiAbi::open_mpi},
      {"libmpi.so.12", MpiAbi::mpich},       {"libmpich.so.12", MpiAbi::mpich},
      {"libmpifort.so.12", MpiAbi::mpich},   {"libmpi_abi.so.0", MpiAbi::standard},
      {"libmpi_abi.so.1", MpiAbi::standard}, {"libmpi.so.20", std::optional<MpiAbi>()},
      {"libmpi.so", std::nullopt},           {"libmpi.so.400", std::nullopt},
      {"libmpich.so.40", std::nullopt},      {"libm.so.6", std::nullopt},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(mpi_library(row.name), row.abi);
  }
}

TEST(LinkedMpi, folders_stand_in_the_loaders_order) {
  const auto first = [](const Elf& elf, std::vector<std::string> inherited, std::size_t count) {
    auto folders = search_folders(elf, "/o", inherited, "/env:");
    folders.resize(count);
    return folders;
  };
  EXPECT_EQ(first({.rpath = "$ORIGIN/../lib:${ORIGIN}"}, {"/parent"}, 5),
            (std::vector<std::string>{"/o/../lib", "/o", "/parent", "/env", "."}));
  EXPECT_EQ(first({.rpath = "/r", .runpath = "/run"}, {"/parent"}, 3), (std::vector<std::string>{"/env", ".", "/run"}));
}

}  // namespace
}  // namespace sumac::tools
