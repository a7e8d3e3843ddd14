#pragma once
// SUMAC_FUZZ(corpus) { ... return 0; } is a fuzz target over `data` and `size`: a libFuzzer program in the preset `fuzz`; elsewhere a case
// of its folder's test program, which replays the files of tests/corpus/<corpus>, so that every test run repeats all earlier findings.
#include <cstddef>
#include <cstdint>

#ifdef SUMAC_LIBFUZZER
#define SUMAC_FUZZ(corpus) extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#else
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace sumac::fuzz {

inline void replay(const char* corpus, int (*target)(const std::uint8_t* data, std::size_t size)) {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(SUMAC_SOURCE_DIR) / "tests/corpus" / corpus)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    // The copy has exactly the right size, so that a sanitizer detects a read past the end.
    const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
    EXPECT_EQ(target(input.data(), input.size()), 0);
    ++count;
  }
  EXPECT_GT(count, 0u) << "the corpus has no file";
}

}  // namespace sumac::fuzz

#define SUMAC_FUZZ(corpus)                                              \
  static int fuzz_##corpus(const std::uint8_t* data, std::size_t size); \
  TEST(Replay, corpus) { sumac::fuzz::replay(#corpus, fuzz_##corpus); } \
  static int fuzz_##corpus(const std::uint8_t* data, std::size_t size)
#endif
