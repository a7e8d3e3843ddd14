#pragma once
// Tests of an interface ask here what a library exports.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

namespace sumac::test {

inline std::set<std::string> exported_by(const std::string& library) {
  std::set<std::string> found;
  std::FILE* const nm = ::popen(("nm -D --defined-only " + library).c_str(), "r");
  EXPECT_NE(nm, nullptr);
  if (nm == nullptr) return found;
  char name[256];
  while (std::fscanf(nm, "%*s %*s %255s", name) == 1) found.insert(name);
  EXPECT_EQ(::pclose(nm), 0);
  return found;
}

}  // namespace sumac::test
