#pragma once
// Reads the command line of an MPI launcher: where the options end and the program begins, which variables the options
// set for the program, whether they name hosts. The options of Open MPI, hydra (MPICH, Intel MPI, MVAPICH) and Slurm
// differ, so the caller says whose launcher it is. Pure.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sumac::tools {

enum class LauncherFamily { unknown, open_mpi, hydra, slurm };

/// The family that the file name alone tells: `orterun` is Open MPI's, `mpiexec.hydra` hydra's. `mpirun` and `mpiexec`
/// are launchers of an unknown family. Nothing: no MPI launcher.
std::optional<LauncherFamily> launcher_by_name(std::string_view file_name);

/// The family by what `--version` prints.
LauncherFamily launcher_by_version(std::string_view text);

inline constexpr std::size_t kNoWord = static_cast<std::size_t>(-1);

/// A variable that words of the command set for the program.
struct Setting {
  std::string name;
  std::optional<std::string> value;  ///< Nothing: the word only passes on the environment's value (`-x NAME`).
  std::size_t word = kNoWord;        ///< The word that ends with the value; kNoWord: no word of the user's command.
  bool operator==(const Setting&) const = default;
};

/// A program among the words; `first` is the index of its name.
struct LaunchedProgram {
  std::size_t first = 0;
  std::vector<std::string> words;
  bool operator==(const LaunchedProgram&) const = default;
};

struct LauncherWords {
  std::vector<LaunchedProgram> programs;  ///< Several where colons divide the command (MPMD).
  std::vector<Setting> settings;
  std::string directory;       ///< The folder in which the programs start (-wdir), or empty.
  std::string file;            ///< The option with the file that names the programs (--app FILE), or empty.
  std::string withheld;        ///< The option that keeps the environment from the program, or empty.
  std::string unknown_option;  ///< An option before the program that no table has; it was taken as one without value.
  bool hosts_named = false;
  bool exports_named = false;  ///< srun's --export.
};

/// srun without --export takes it from SLURM_EXPORT_ENV, which `#SBATCH --export=NONE` sets: adds that variable's value to
/// the words of a launcher of Slurm.
void add_slurm_export(LauncherWords& words, std::string_view value);

/// `words` begins behind the launcher's own word; indices in the result count from `words`' begin plus `offset`.
LauncherWords read_launcher_words(LauncherFamily family, std::span<const std::string> words, std::size_t offset);

}  // namespace sumac::tools
