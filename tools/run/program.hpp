#pragma once
// Looks at the command behind `sumac run`: through wrappers, an MPI launcher and shell scripts to the programs that run
// in the end, and says which MPI each of them needs. It reads files and asks launchers (`--version`) and Python
// interpreters (mpi4py); it changes nothing and never fails: what stays unclear has its reason.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/run/launcher_words.hpp"
#include "tools/run/linked_mpi.hpp"

namespace sumac::tools {

struct Program {
  std::string name;  ///< As its user typed it.
  std::optional<LinkedMpi> mpi;
  bool is_static = false;          ///< It has no dynamic loader at all.
  bool has_own_mpi = false;        ///< MPI_Init is a part of its own file.
  bool ignores_preload = false;    ///< The loader runs it in secure mode: setuid, setgid or file capabilities.
  bool is_sharp_client = false;    ///< It needs libsharp_coll.so.
  bool address_sanitizer = false;  ///< It needs a shared runtime of AddressSanitizer.
  std::string foreign;             ///< "a 32-bit program" or "a program for another machine"; empty: it is like us.
  std::string unclear;             ///< Why its MPI is not known, as the end of a sentence that begins with its name.
  bool operator==(const Program&) const = default;
};

struct Launcher {
  std::string name;  ///< As its user typed it.
  std::string path;  ///< Its file, links resolved; empty: not found.
  LauncherFamily family = LauncherFamily::unknown;
  std::size_t word = kNoWord;  ///< Its index in the command; kNoWord: a script starts it, or nobody.
  bool guessed = false;        ///< Not among the words that could be read: the mpirun of the PATH.
  bool operator==(const Launcher&) const = default;
};

struct LookedAt {
  std::optional<Launcher> launcher;
  std::vector<Program> programs;  ///< At least one.
  std::vector<Setting> settings;  ///< In the order in which they take effect: later ones win.
  std::string withheld;           ///< The option that keeps the environment from the programs, or empty.
  std::string unknown_option;
  bool hosts_named = false;
};

/// True if an MPI launcher starts the programs, at most behind wrappers.
bool is_mpi_command(const LookedAt& looked);

/// True if the programs need daemons, whether or not MPI's collectives use the tree: a program of MPI does without them
/// unless it is linked with libsharp_coll.so.
bool needs_daemons(const LookedAt& looked);

/// True if one of the programs needs a shared runtime of AddressSanitizer.
bool needs_address_sanitizer(const LookedAt& looked);

LookedAt look_at(const std::vector<std::string>& command, const std::vector<std::string>& environment);

/// Finds a program as a shell does. Empty: it is not there, or not executable.
std::string find_program(const std::string& name, std::string_view path, const std::string& directory);

/// The value of a variable in NAME=value words; nothing: it is not set.
std::optional<std::string> value_of(const std::vector<std::string>& environment, std::string_view name);

}  // namespace sumac::tools
