#pragma once
// Builds small ELF files for tests: a program or library of either word size, with the names that a dynamic section has.
#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

#include "tools/run/elf.hpp"

namespace sumac::tools {

struct Wanted {
  std::uint16_t machine = EM_X86_64;
  std::string interpreter;
  std::vector<std::string> needed;
  std::string soname;
  std::string rpath;
  std::string runpath;
};

struct Image64 {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Dynamic = Elf64_Dyn;
  static constexpr unsigned char kClass = ELFCLASS64;
};
struct Image32 {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Dynamic = Elf32_Dyn;
  static constexpr unsigned char kClass = ELFCLASS32;
};

/// Header, three segments (all of the file; the interpreter; the dynamic section), dynamic section, strings.
template <class Image>
std::string elf_image(const Wanted& wanted) {
  using Dynamic = typename Image::Dynamic;
  std::string strings(1, '\0');
  std::vector<Dynamic> entries;
  const auto add = [&](auto tag, const std::string& text) {
    Dynamic entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = static_cast<decltype(entry.d_un.d_val)>(strings.size());
    entries.push_back(entry);
    strings += text + '\0';
  };
  for (const auto& name : wanted.needed) add(DT_NEEDED, name);
  if (!wanted.soname.empty()) add(DT_SONAME, wanted.soname);
  if (!wanted.rpath.empty()) add(DT_RPATH, wanted.rpath);
  if (!wanted.runpath.empty()) add(DT_RUNPATH, wanted.runpath);
  const std::size_t interpreter_at = sizeof(typename Image::Header) + 3 * sizeof(typename Image::Segment);
  const std::size_t dynamic_at = interpreter_at + (wanted.interpreter.empty() ? 0 : wanted.interpreter.size() + 1);
  const std::size_t strings_at = dynamic_at + (entries.size() + 3) * sizeof(Dynamic);
  constexpr std::uint32_t kBase = 0x10000;  // Addresses differ from places in the file, as in real files.
  Dynamic table{}, bytes{};
  table.d_tag = DT_STRTAB;
  table.d_un.d_ptr = static_cast<decltype(table.d_un.d_ptr)>(kBase + strings_at);
  bytes.d_tag = DT_STRSZ;
  bytes.d_un.d_val = static_cast<decltype(bytes.d_un.d_val)>(strings.size());
  entries.insert(entries.end(), {table, bytes, Dynamic{}});
  typename Image::Header header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = Image::kClass;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = wanted.machine;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(typename Image::Segment);
  header.e_phnum = 3;
  typename Image::Segment all{}, interpreter{}, dynamic{};
  all.p_type = PT_LOAD;
  all.p_vaddr = kBase;
  all.p_filesz = static_cast<decltype(all.p_filesz)>(strings_at + strings.size());
  interpreter.p_type = wanted.interpreter.empty() ? PT_NULL : PT_INTERP;
  interpreter.p_offset = static_cast<decltype(interpreter.p_offset)>(interpreter_at);
  interpreter.p_filesz = static_cast<decltype(interpreter.p_filesz)>(dynamic_at - interpreter_at);
  dynamic.p_type = PT_DYNAMIC;
  dynamic.p_offset = static_cast<decltype(dynamic.p_offset)>(dynamic_at);
  dynamic.p_filesz = static_cast<decltype(dynamic.p_filesz)>(entries.size() * sizeof(Dynamic));
  std::string file;
  const auto put = [&](const auto& part) { file.append(reinterpret_cast<const char*>(&part), sizeof part); };
  put(header);
  for (const auto& segment : {all, interpreter, dynamic}) put(segment);
  if (!wanted.interpreter.empty()) file += wanted.interpreter + '\0';
  for (const auto& entry : entries) put(entry);
  return file + strings;
}

inline ElfBytes bytes_of(const std::string& file) {
  return {.size = file.size(), .read = [&file](std::uint64_t offset, std::span<std::byte> out) {
            if (offset > file.size() || file.size() - offset < out.size()) return false;
            if (!out.empty()) std::memcpy(out.data(), file.data() + offset, out.size());
            return true;
          }};
}

}  // namespace sumac::tools
