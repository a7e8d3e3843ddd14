#include "team/tuning_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/test_folder.hpp"

namespace sumac::team {
namespace {

const TuningFile kFile{"a machine",
                       {{"allreduce", 2, false, 0, "flat"},
                        {"allreduce", 2, false, 4096, "blocks"},
                        {"allreduce", 8, false, 0, "other"},
                        {"bcast", 2, true, 1024, "flat"}}};

TEST(TuningFile, ComesBackAsItWasWritten) {
  const TestFolder folder("tuning");
  const std::string path = folder.path + "/new/folders/tuning.json";
  ASSERT_TRUE(save_tuning(path, kFile));
  const auto back = load_tuning(path, "a machine");
  ASSERT_TRUE(back) << back.error().context;
  EXPECT_EQ(*back, kFile);
  EXPECT_NE(digest(*back), 0u);
  // No other file lies beside it, and a second one replaces it as a whole.
  ASSERT_TRUE(save_tuning(path, TuningFile{"a machine", {}}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path + "/new/folders"), {}), 1);
  EXPECT_EQ(digest(load_tuning(path, "a machine").value()), 0u);
}

TEST(TuningFile, EveryHalfOfItIsRefused) {
  const std::string whole = print_tuning(kFile);
  for (std::size_t length = 0; length + 1 < whole.size(); ++length) {  // The last byte is the line's end.
    const auto part = parse_tuning(whole.substr(0, length));
    if (!part) continue;
    ASSERT_EQ(whole.substr(length), "\n");
  }
}

TEST(TuningFile, WhatIsNotOursIsRefusedInOneLine) {
  const TestFolder folder("tuning");
  const std::string path = folder.path + "/tuning.json";
  const std::string good = print_tuning(kFile);
  std::string edited = good;
  edited.replace(edited.find("4096"), 4, "8192");
  std::string newer = good;
  newer.replace(newer.find(": 1"), 3, ": 2");
  const struct {
    const char* name;
    std::string text;
    Errc code;
    const char* says;
  } rows[] = {
      {"empty", "", Errc::invalid, "half-written, or not JSON"},
      {"cut off", good.substr(0, good.size() / 2), Errc::invalid, "half-written, or not JSON"},
      {"something else", "[1, 2]", Errc::invalid, "not a tuning file"},
      {"edited", edited, Errc::invalid, "checksum"},
      {"of a later version", newer, Errc::invalid, "version 2"},
      {"of another machine", print_tuning({"another machine", {}}), Errc::refused,
       "measured on another machine (\"another machine\""},
      {"very large", std::string(5 << 20, ' '), Errc::invalid, "larger than"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::ofstream(path) << row.text;
    const auto loaded = load_tuning(path, "a machine");
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, row.code);
    EXPECT_NE(loaded.error().context.find(row.says), std::string::npos) << loaded.error().context;
    EXPECT_EQ(loaded.error().context.find('\n'), std::string::npos);
    EXPECT_EQ(loaded.error().context.find(path), 0u) << loaded.error().context;
    EXPECT_NE(loaded.error().context.find("sumac tune"), std::string::npos) << loaded.error().context;
  }
  EXPECT_EQ(load_tuning(folder.path + "/none", "a machine").error().code, Errc::not_found);
  const std::string pipe = folder.path + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(load_tuning(pipe, "a machine").error().code, Errc::invalid) << "nobody writes to it";
}

TEST(TuningFile, ChoicesOfTheNearestSmallerTeam) {
  const auto names = [](const std::vector<TunedChoice>& choices) {
    std::string text;
    for (const auto& choice : choices) text += fmt::format("{}@{} ", choice.algorithm, choice.from_bytes);
    return text;
  };
  EXPECT_EQ(names(choices_for(kFile, "allreduce", 2, false)), "flat@0 blocks@4096 ");
  EXPECT_EQ(names(choices_for(kFile, "allreduce", 7, false)), "flat@0 blocks@4096 ");
  EXPECT_EQ(names(choices_for(kFile, "allreduce", 8, false)), "other@0 ");
  EXPECT_EQ(names(choices_for(kFile, "allreduce", 1, false)), "");
  EXPECT_EQ(names(choices_for(kFile, "allreduce", 2, true)), "");
  EXPECT_EQ(names(choices_for(kFile, "bcast", 99, true)), "flat@1024 ");
}

TEST(TuningFile, WhereItIsLookedFor) {
  const char* home = std::getenv("HOME");
  const std::string old_home = home != nullptr ? home : "";
  ::unsetenv("XDG_CONFIG_HOME");
  ::setenv("HOME", "/srv/somebody", 1);
  EXPECT_EQ(tuning_path(""), "/srv/somebody/.config/sumac/tuning.json");
  ::setenv("XDG_CONFIG_HOME", "/etc/xdg", 1);
  EXPECT_EQ(tuning_path(""), "/etc/xdg/sumac/tuning.json");
  EXPECT_EQ(tuning_path("none"), "");
  EXPECT_EQ(tuning_path("/a/file"), "/a/file");
  ::unsetenv("XDG_CONFIG_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(tuning_path(""), "");
  if (home != nullptr) ::setenv("HOME", old_home.c_str(), 1);
}

}  // namespace
}  // namespace sumac::team
