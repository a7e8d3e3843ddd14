#pragma once
// Reads the parts of an ELF file that decide whether an MPI can be interposed in it: word size, machine, interpreter,
// needed libraries and their search paths, and whether it defines a function itself. The file may be anybody's and
// broken: every offset is checked against the file's size before use.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace sumac::tools {

/// A file, read at any place. Nothing is mapped: a file that another process cuts short is an error, not a SIGBUS.
struct ElfBytes {
  std::uint64_t size = 0;
  std::function<bool(std::uint64_t offset, std::span<std::byte> out)> read;  ///< False if a byte is not there.
};

struct Elf {
  bool is_64 = false;
  std::uint16_t machine = 0;        ///< EM_X86_64 and its like.
  std::string interpreter;          ///< The dynamic loader; empty: a shared library, or a static program.
  std::string soname;               ///< DT_SONAME, or empty.
  std::vector<std::string> needed;  ///< DT_NEEDED, in the file's order.
  std::string rpath;                ///< DT_RPATH as it stands, with $ORIGIN; the loader ignores it beside a runpath.
  std::string runpath;              ///< DT_RUNPATH as it stands.
  bool operator==(const Elf&) const = default;
};

inline constexpr std::size_t kElfNeededMax = 4096;
inline constexpr std::size_t kElfStringMax = 4096;

/// True if the file begins as an ELF file does.
bool is_elf(const ElfBytes& bytes);

/// Errc::invalid names the part of the file that is broken; Errc::unsupported a big-endian file.
Result<Elf> read_elf(const ElfBytes& bytes);

/// True if one of the file's symbol tables defines `symbol`. A stripped program has only its dynamic symbols.
Result<bool> elf_defines(const ElfBytes& bytes, std::string_view symbol);

/// Opens a file of the disk. Errc::io has the reason; whatever is no regular file is Errc::invalid.
Result<ElfBytes> open_elf(const std::string& path);

}  // namespace sumac::tools
