#include "tools/run/elf.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/fd.hpp"

namespace sumac::tools {
namespace {

struct Class32 {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Section = Elf32_Shdr;
  using Dynamic = Elf32_Dyn;
  using Symbol = Elf32_Sym;
};
struct Class64 {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Section = Elf64_Shdr;
  using Dynamic = Elf64_Dyn;
  using Symbol = Elf64_Sym;
};

/// A symbol table's strings are read whole; a table beyond this size is no program of our time.
constexpr std::uint64_t kSymbolStringsMax = 256ull << 20;
constexpr std::uint64_t kDynamicMax = 65536;

template <class T>
std::optional<T> value_at(const ElfBytes& bytes, std::uint64_t offset) {
  T value;
  if (offset > bytes.size || bytes.size - offset < sizeof value) return std::nullopt;
  if (!bytes.read(offset, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  return value;
}

/// Returns the string that begins at `offset` and ends, with its zero byte, before `end`.
std::optional<std::string> string_at(const ElfBytes& bytes, std::uint64_t offset, std::uint64_t end) {
  end = std::min(end, bytes.size);
  if (offset >= end) return std::nullopt;
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(end - offset, kElfStringMax)), '\0');
  if (!bytes.read(offset, std::as_writable_bytes(std::span(text)))) return std::nullopt;
  const auto zero = text.find('\0');
  if (zero == std::string::npos) return std::nullopt;
  text.resize(zero);
  return text;
}

template <class Class>
struct Layout {
  typename Class::Header header;
  std::vector<typename Class::Segment> segments;

  /// Returns the place in the file of a byte that is loaded at `address`.
  std::optional<std::uint64_t> place(std::uint64_t address) const {
    for (const auto& segment : segments) {
      const std::uint64_t inside = address - segment.p_vaddr;
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr || inside >= segment.p_filesz) continue;
      if (segment.p_offset > ~inside) return std::nullopt;  // The sum would wrap around.
      return segment.p_offset + inside;
    }
    return std::nullopt;
  }
};

template <class Class>
Result<Layout<Class>> layout_of(const ElfBytes& bytes) {
  Layout<Class> layout;
  const auto header = value_at<typename Class::Header>(bytes, 0);
  if (!header) return fail(Errc::invalid, "the ELF header is cut short");
  layout.header = *header;
  if (header->e_phnum != 0 && header->e_phentsize != sizeof(typename Class::Segment))
    return fail(Errc::invalid, "program headers of {} bytes", header->e_phentsize);
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    if (header->e_phoff > bytes.size) return fail(Errc::invalid, "program headers beyond the file's end");
    const auto segment = value_at<typename Class::Segment>(bytes, header->e_phoff + i * sizeof(typename Class::Segment));
    if (!segment) return fail(Errc::invalid, "program headers beyond the file's end");
    layout.segments.push_back(*segment);
  }
  return layout;
}

template <class Class>
Result<> read_dynamic(const ElfBytes& bytes, const Layout<Class>& layout, const typename Class::Segment& dynamic,
                      Elf& elf) {
  struct Text {
    std::uint64_t tag, offset;
  };
  std::vector<Text> texts;
  std::uint64_t strings = 0, strings_bytes = 0;
  const std::uint64_t count = std::min<std::uint64_t>(dynamic.p_filesz / sizeof(typename Class::Dynamic), kDynamicMax);
  if (dynamic.p_offset > bytes.size) return fail(Errc::invalid, "the dynamic section lies beyond the file's end");
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = value_at<typename Class::Dynamic>(bytes, dynamic.p_offset + i * sizeof(typename Class::Dynamic));
    if (!entry) return fail(Errc::invalid, "the dynamic section lies beyond the file's end");
    const auto tag = static_cast<std::uint64_t>(entry->d_tag);
    if (tag == DT_NULL) break;
    if (tag == DT_STRTAB) strings = entry->d_un.d_ptr;
    if (tag == DT_STRSZ) strings_bytes = entry->d_un.d_val;
    if (tag == DT_NEEDED || tag == DT_SONAME || tag == DT_RPATH || tag == DT_RUNPATH)
      texts.push_back({tag, entry->d_un.d_val});
  }
  if (texts.empty()) return {};
  if (texts.size() > kElfNeededMax) return fail(Errc::invalid, "more than {} needed libraries", kElfNeededMax);
  const auto begin = layout.place(strings);
  if (!begin || *begin > bytes.size) return fail(Errc::invalid, "the dynamic section's strings lie in no segment");
  const std::uint64_t end = *begin + std::min(strings_bytes, bytes.size - *begin);
  for (const auto& text : texts) {
    if (text.offset >= end - *begin) return fail(Errc::invalid, "a library's name lies beyond the string table");
    auto name = string_at(bytes, *begin + text.offset, end);
    if (!name) return fail(Errc::invalid, "a library's name has no end");
    if (text.tag == DT_NEEDED)
      elf.needed.push_back(*std::move(name));
    else
      (text.tag == DT_SONAME ? elf.soname : text.tag == DT_RPATH ? elf.rpath : elf.runpath) = *std::move(name);
  }
  return {};
}

template <class Class>
Result<Elf> read_class(const ElfBytes& bytes) {
  const auto layout = layout_of<Class>(bytes);
  if (!layout) return tl::unexpected(layout.error());
  Elf elf{.is_64 = std::is_same_v<Class, Class64>, .machine = layout->header.e_machine};
  bool dynamic = false;
  for (const auto& segment : layout->segments) {
    if (segment.p_type == PT_INTERP && elf.interpreter.empty()) {
      if (segment.p_offset > bytes.size) return fail(Errc::invalid, "the interpreter lies beyond the file's end");
      auto interpreter =
          string_at(bytes, segment.p_offset,
                    segment.p_offset + std::min<std::uint64_t>(segment.p_filesz, bytes.size - segment.p_offset));
      if (!interpreter) return fail(Errc::invalid, "the interpreter's name has no end");
      elf.interpreter = *std::move(interpreter);
    }
    if (segment.p_type == PT_DYNAMIC && !std::exchange(dynamic, true))
      if (auto read = read_dynamic<Class>(bytes, *layout, segment, elf); !read) return tl::unexpected(read.error());
  }
  return elf;
}

/// Reads one symbol table with its strings.
template <class Class>
Result<bool> table_defines(const ElfBytes& bytes, const typename Class::Section& table,
                           const typename Class::Section& strings, std::string_view symbol) {
  if (strings.sh_offset > bytes.size || strings.sh_size > bytes.size - strings.sh_offset ||
      strings.sh_size > kSymbolStringsMax)
    return fail(Errc::invalid, "a symbol table's strings lie beyond the file's end");
  if (table.sh_offset > bytes.size || table.sh_size > bytes.size - table.sh_offset)
    return fail(Errc::invalid, "a symbol table lies beyond the file's end");
  std::string names(static_cast<std::size_t>(strings.sh_size), '\0');
  if (!bytes.read(strings.sh_offset, std::as_writable_bytes(std::span(names))))
    return fail(Errc::invalid, "a symbol table's strings can't be read");
  std::array<typename Class::Symbol, 1024> chunk;
  const std::uint64_t count = table.sh_size / sizeof(typename Class::Symbol);
  for (std::uint64_t first = 0; first < count; first += chunk.size()) {
    const auto now =
        std::span(chunk).first(static_cast<std::size_t>(std::min<std::uint64_t>(chunk.size(), count - first)));
    if (!bytes.read(table.sh_offset + first * sizeof(typename Class::Symbol), std::as_writable_bytes(now)))
      return fail(Errc::invalid, "a symbol table can't be read");
    for (const auto& each : now) {
      if (each.st_shndx == SHN_UNDEF || each.st_name >= names.size()) continue;
      const auto rest = std::string_view(names).substr(each.st_name);
      if (rest.size() > symbol.size() && rest.starts_with(symbol) && rest[symbol.size()] == '\0') return true;
    }
  }
  return false;
}

template <class Class>
Result<bool> class_defines(const ElfBytes& bytes, std::string_view symbol) {
  using Section = typename Class::Section;
  const auto header = value_at<typename Class::Header>(bytes, 0);
  if (!header) return fail(Errc::invalid, "the ELF header is cut short");
  if (header->e_shnum == 0) return false;
  if (header->e_shentsize != sizeof(Section)) return fail(Errc::invalid, "sections of {} bytes", header->e_shentsize);
  if (header->e_shoff > bytes.size) return fail(Errc::invalid, "the sections lie beyond the file's end");
  const auto section = [&](std::uint64_t i) { return value_at<Section>(bytes, header->e_shoff + i * sizeof(Section)); };
  int tables = 0;  // A file has at most one of each kind; more would only cost time.
  for (std::uint64_t i = 0; i < header->e_shnum && tables < 2; ++i) {
    const auto table = section(i);
    if (!table) return fail(Errc::invalid, "the sections lie beyond the file's end");
    if (table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM) continue;
    ++tables;
    const auto strings = table->sh_link < header->e_shnum ? section(table->sh_link) : std::nullopt;
    if (!strings) return fail(Errc::invalid, "a symbol table has no strings");
    const auto found = table_defines<Class>(bytes, *table, *strings, symbol);
    if (!found || *found) return found;
  }
  return false;
}

/// Returns the first bytes if they are those of an ELF file that can be read.
Result<std::array<unsigned char, EI_NIDENT>> identity(const ElfBytes& bytes) {
  if (!is_elf(bytes)) return fail(Errc::invalid, "no ELF file");
  const auto ident = value_at<std::array<unsigned char, EI_NIDENT>>(bytes, 0);
  if (!ident) return fail(Errc::invalid, "the ELF header is cut short");
  if ((*ident)[EI_CLASS] != ELFCLASS32 && (*ident)[EI_CLASS] != ELFCLASS64)
    return fail(Errc::invalid, "ELF class {}", (*ident)[EI_CLASS]);
  if ((*ident)[EI_DATA] != ELFDATA2LSB) return fail(Errc::unsupported, "it is not little-endian");
  return *ident;
}

}  // namespace

bool is_elf(const ElfBytes& bytes) {
  const auto magic = value_at<std::array<char, SELFMAG>>(bytes, 0);
  return magic && std::memcmp(magic->data(), ELFMAG, SELFMAG) == 0;
}

Result<Elf> read_elf(const ElfBytes& bytes) {
  const auto ident = identity(bytes);
  if (!ident) return tl::unexpected(ident.error());
  return (*ident)[EI_CLASS] == ELFCLASS64 ? read_class<Class64>(bytes) : read_class<Class32>(bytes);
}

Result<bool> elf_defines(const ElfBytes& bytes, std::string_view symbol) {
  const auto ident = identity(bytes);
  if (!ident) return tl::unexpected(ident.error());
  return (*ident)[EI_CLASS] == ELFCLASS64 ? class_defines<Class64>(bytes, symbol)
                                          : class_defines<Class32>(bytes, symbol);
}

Result<ElfBytes> open_elf(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  auto file = std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!*file || ::fstat(file->get(), &status) < 0) return fail_errno(path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::invalid, "{}: no regular file", path);
  return ElfBytes{.size = static_cast<std::uint64_t>(status.st_size),
                  .read = [file](std::uint64_t offset, std::span<std::byte> out) {
                    while (!out.empty()) {
                      const auto got = ::pread(file->get(), out.data(), out.size(), static_cast<off_t>(offset));
                      if (got < 0 && errno == EINTR) continue;
                      if (got <= 0) return false;
                      offset += static_cast<std::uint64_t>(got);
                      out = out.subspan(static_cast<std::size_t>(got));
                    }
                    return true;
                  }};
}

}  // namespace sumac::tools
