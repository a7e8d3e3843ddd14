#include "tools/run/elf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tools/run/elf_image.hpp"

namespace sumac::tools {
namespace {

using testing::Contains;
using testing::HasSubstr;

const Wanted kProgram{.interpreter = "/lib64/ld-linux-x86-64.so.2",
                      .needed = {"libmpi.so.12", "libc.so.6"},
                      .runpath = "$ORIGIN/../lib:/opt/mpi/lib"};

TEST(Elf, both_word_sizes_are_read) {
  const auto wide = read_elf(bytes_of(elf_image<Image64>(kProgram)));
  ASSERT_TRUE(wide) << wide.error().context;
  EXPECT_EQ(*wide, (Elf{.is_64 = true,
                        .machine = EM_X86_64,
                        .interpreter = kProgram.interpreter,
                        .needed = kProgram.needed,
                        .runpath = kProgram.runpath}));
  const std::string file =
      elf_image<Image32>({.machine = EM_386, .needed = {"libm.so.6"}, .soname = "x", .rpath = "/r"});
  const auto narrow = read_elf(bytes_of(file));
  ASSERT_TRUE(narrow) << narrow.error().context;
  EXPECT_EQ(*narrow, (Elf{.is_64 = false, .machine = EM_386, .soname = "x", .needed = {"libm.so.6"}, .rpath = "/r"}));
}

TEST(Elf, our_own_file_is_read_as_readelf_shows_it) {
  const auto own = open_elf("/proc/self/exe");
  ASSERT_TRUE(own) << own.error().context;
  const auto elf = read_elf(*own);
  ASSERT_TRUE(elf) << elf.error().context;
  EXPECT_THAT(elf->interpreter, HasSubstr("ld-linux"));
  EXPECT_THAT(elf->needed, Contains("libc.so.6"));
  EXPECT_TRUE(elf_defines(*own, "main").value_or(false));
  EXPECT_FALSE(elf_defines(*own, "MPI_Init").value_or(true));
}

TEST(Elf, a_file_cut_anywhere_is_refused_with_a_reason) {
  const std::string whole = elf_image<Image64>(kProgram);
  const auto complete = read_elf(bytes_of(whole));
  ASSERT_TRUE(complete);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    const std::string cut = whole.substr(0, length);
    const auto elf = read_elf(bytes_of(cut));
    ASSERT_FALSE(elf);
    EXPECT_FALSE(elf.error().context.empty());
  }
}

TEST(Elf, what_is_broken_is_named) {
  const auto changed = [](auto change) {
    std::string file = elf_image<Image64>(kProgram);
    Elf64_Ehdr header;
    std::memcpy(&header, file.data(), sizeof header);
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    std::memcpy(segments.data(), file.data() + sizeof header, segments.size() * sizeof(Elf64_Phdr));
    change(header, segments);
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(file.data() + sizeof header, segments.data(), segments.size() * sizeof(Elf64_Phdr));
    return file;
  };
  const struct {
    const char* name;
    std::string file;
    const char* says;
  } rows[] = {
      {"no ELF file", "#!/bin/sh\n", "no ELF file"},
      {"a class that nobody has", changed([](auto& header, auto&) { header.e_ident[EI_CLASS] = 7; }), "ELF class 7"},
      {"another byte order", changed([](auto& header, auto&) { header.e_ident[EI_DATA] = ELFDATA2MSB; }),
       "not little-endian"},
      {"program headers of another size", changed([](auto& header, auto&) { header.e_phentsize = 1; }),
       "program headers of 1 bytes"},
      {"program headers beyond the end", changed([](auto& header, auto&) { header.e_phoff = ~0ull - 8; }),
       "program headers beyond the file's end"},
      {"more program headers than the file holds", changed([](auto& header, auto&) { header.e_phnum = 0xfffe; }),
       "program headers beyond the file's end"},
      {"an interpreter beyond the end", changed([](auto&, auto& segments) { segments[1].p_offset = ~0ull; }),
       "the interpreter lies beyond the file's end"},
      {"an interpreter without an end", changed([](auto&, auto& segments) { segments[1].p_filesz = 3; }),
       "the interpreter's name has no end"},
      {"a dynamic section beyond the end", changed([](auto&, auto& segments) { segments[2].p_offset = ~0ull - 8; }),
       "the dynamic section lies beyond the file's end"},
      {"strings in no segment", changed([](auto&, auto& segments) { segments[0].p_vaddr = 1ull << 40; }),
       "lie in no segment"},
      {"a segment that lies beyond the end", changed([](auto&, auto& segments) { segments[0].p_offset = ~0ull - 64; }),
       "lie in no segment"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto elf = read_elf(bytes_of(row.file));
    ASSERT_FALSE(elf);
    EXPECT_THAT(elf.error().context, HasSubstr(row.says));
  }
}

TEST(Elf, a_fifo_and_a_missing_file_are_refused_without_waiting) {
  EXPECT_THAT(open_elf("/dev/null").error().context, HasSubstr("no regular file"));
  EXPECT_THAT(open_elf("/nowhere/to/be/found").error().context, HasSubstr("/nowhere/to/be/found"));
}

}  // namespace
}  // namespace sumac::tools
