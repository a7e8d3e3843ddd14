// Feeds any bytes as an ELF file: they must be refused with a reason, or give at most the announced number of names, each
// a part of the file.
#include <cstring>

#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "tools/run/elf.hpp"

SUMAC_FUZZ(elf) {
  using namespace sumac;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const tools::ElfBytes bytes{.size = size, .read = [&](std::uint64_t offset, std::span<std::byte> out) {
                                if (offset > size || size - offset < out.size()) return false;
                                if (!out.empty()) std::memcpy(out.data(), data + offset, out.size());
                                return true;
                              }};
  const auto elf = tools::read_elf(bytes);
  const auto defined = tools::elf_defines(bytes, "MPI_Init");
  fuzz::must(elf || !elf.error().context.empty(), "a refusal has a reason");
  fuzz::must(defined || !defined.error().context.empty(), "a refusal has a reason");
  fuzz::must(!(defined && *defined) || text.find("MPI_Init") != std::string_view::npos, "a symbol has its name");
  if (!elf) return 0;
  fuzz::must(elf->needed.size() <= tools::kElfNeededMax, "as many libraries as are allowed");
  for (const auto& name : elf->needed)
    fuzz::must(name.size() < tools::kElfStringMax && text.find(name) != std::string_view::npos, "a name of the file");
  return 0;
}
