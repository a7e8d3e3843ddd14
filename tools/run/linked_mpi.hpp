#pragma once
// Finds the MPI library that an ELF file needs, itself or through the libraries that it needs, as the dynamic loader
// would find them. The loader's cache is not read: the folders that /etc/ld.so.conf names are, and the usual ones.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/run/elf.hpp"

namespace sumac::tools {

/// A binary interface of MPI: libraries of one interface can stand in for each other.
enum class MpiAbi { open_mpi, mpich, standard };

/// The name for people, as in "libmpi.so.12 (MPICH's ABI)".
std::string_view name_of(MpiAbi abi);

struct LinkedMpi {
  std::string library;        ///< The needed name, such as libmpi.so.12.
  std::string path;           ///< The file that the loader would take, links resolved; empty: found by its name alone.
  std::optional<MpiAbi> abi;  ///< Nothing: an MPI that no library of ours serves (Open MPI before 3).
  /// Whose library it is, and so whose launcher starts it as one job; nothing: not known (the standard ABI is anybody's).
  std::optional<MpiAbi> provider;
  bool operator==(const LinkedMpi&) const = default;
};

/// The interface by the name of an MPI library, of C, Fortran or C++; the outer optional: is it an MPI library at all?
std::optional<std::optional<MpiAbi>> mpi_library(std::string_view name);

/// The folders in which the loader looks for a file's needed libraries, in its order. `origin`: the folder of the file.
std::vector<std::string> search_folders(const Elf& elf, const std::string& origin,
                                        const std::vector<std::string>& inherited_rpath,
                                        std::string_view ld_library_path);

/// Looks at `path` and at the libraries that it needs. Nothing: no MPI library among them. Libraries that are not found
/// or can't be read are passed over, as the loader's own complaint names them.
Result<std::optional<LinkedMpi>> linked_mpi(const std::string& path, std::string_view ld_library_path);

/// True if `path` needs libsharp_coll.so, itself or through other libraries: it is a client of the daemons.
bool needs_sharp_coll(const std::string& path, std::string_view ld_library_path);

/// True for the runtime of a sanitizer, gcc's or clang's, by its path or name.
bool is_sanitizer_runtime(std::string_view path);

/// True if `path` needs a shared runtime of AddressSanitizer, itself or through other libraries. clang links its runtime into
/// the program unless it is told -shared-libsan: such a program needs none.
bool needs_address_sanitizer(const std::string& path, std::string_view ld_library_path);

/// Describes a file that is an MPI library itself. Errc::not_found: it is none that is known here.
Result<LinkedMpi> mpi_of_library(const std::string& path);

}  // namespace sumac::tools
