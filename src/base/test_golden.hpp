#pragma once
// Compares a text with a file of the source tree (a golden file), so that a change of behaviour shows as a line in the
// diff. With SUMAC_UPDATE_GOLDEN=1 the file is written instead.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/clock.hpp"

namespace sumac::test {

/// `file`: its path in the source tree.
inline void expect_golden(const std::string& file, const std::string& text) {
  const std::string path = std::string(SUMAC_SOURCE_DIR "/") + file;
  if (std::getenv("SUMAC_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream stream(path);
  ASSERT_TRUE(stream) << path;
  std::stringstream golden;
  golden << stream.rdbuf();
  EXPECT_EQ(golden.str(), text) << path;
}

/// A value with its name in a golden file.
template <class T>
struct Row {
  const char* name;
  T value;
};

inline std::string text(Time time) {
  if (time == kNever) return "never";
  return fmt::format("{} ms", std::chrono::duration_cast<Millis>(time.time_since_epoch()).count());
}

}  // namespace sumac::test
