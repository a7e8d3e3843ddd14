#include "rank/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Settings : public testing::Test {
 protected:
  void SetUp() override {
    for (char** entry = environ; *entry != nullptr;) {
      const std::string name = std::string(*entry).substr(0, std::string(*entry).find('='));
      if (name.starts_with("HCOLL_") || name.starts_with("SUMAC_") || name.starts_with("OMPI_MCA_coll_hcoll_"))
        ::unsetenv(name.c_str());
      else
        ++entry;
    }
  }
  void TearDown() override { SetUp(); }

  static std::string read() {
    const char* wrong = hcoll_settings_read(&settings);
    return wrong == nullptr ? "" : wrong;
  }
  /// As if another table had two more names, one of them a prefix.
  static const char* others(std::size_t index) {
    const char* const names[] = {"HCOLL_SBGP", "HCOLL_ML_DISABLE_"};
    return index < std::size(names) ? names[index] : nullptr;
  }
  static std::vector<std::string> warnings() {
    static std::vector<std::string> said;
    said.clear();
    hcoll_settings_check([](const char* sentence) { said.emplace_back(sentence); }, others);
    return said;
  }
  static inline hcoll_settings settings{};
};

TEST_F(Settings, defaults_come_from_the_table) {
  EXPECT_EQ(read(), "");
  EXPECT_EQ(settings.enable, 1);
  EXPECT_EQ(settings.level, HCOLL_OFF);
  EXPECT_EQ(settings.hosts_min, 2);
  EXPECT_EQ(settings.polls, 999);
  EXPECT_EQ(settings.allreduce_bytes_max, -1);
  EXPECT_EQ(settings.devices, nullptr);
  EXPECT_EQ(hcoll_parameters[HCOLL_PARAMETER_ENABLE].default_value, 1);
  EXPECT_EQ(hcoll_parameters[HCOLL_PARAMETER_NP].default_value, 2);
  EXPECT_EQ(hcoll_parameters[HCOLL_PARAMETER_PRIORITY].default_value, 90);
}

TEST_F(Settings, a_variable_of_ours_asks_for_sumac) {
  EXPECT_FALSE(hcoll_is_asked_for());
  for (const char* name : {"SUMAC_EXPLAIN", "HCOLL_ENABLE_SHARP", "OMPI_MCA_coll_hcoll_enable"}) {
    SCOPED_TRACE(name);
    ::setenv(name, "0", 1);
    EXPECT_TRUE(hcoll_is_asked_for());
    ::unsetenv(name);
  }
  for (const char* name : {"OMPI_MCA_coll_tuned_priority", "OMPI_MCA_mca_base_component_path", "MY_SUMAC_DIR"}) {
    SCOPED_TRACE(name);
    ::setenv(name, "1", 1);
    EXPECT_FALSE(hcoll_is_asked_for());
    ::unsetenv(name);
  }
}

TEST_F(Settings, the_last_line_is_a_choice_of_three) {
  const struct {
    const char* text;
    int choice;
  } rows[] = {{"auto", -1}, {"", -1}, {"0", 0}, {"1", 1}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    ::setenv("SUMAC_LAST_LINE", row.text, 1);
    EXPECT_EQ(read(), "");
    EXPECT_EQ(settings.last_line, row.choice);
  }
  ::setenv("SUMAC_LAST_LINE", "2", 1);
  EXPECT_EQ(read(), "SUMAC_LAST_LINE=2: expected 0, 1 or auto");
}

TEST_F(Settings, values_and_aliases) {
  const struct {
    const char* text;
    std::int64_t bytes;
  } rows[] = {{"0", 0},        {"2048", 2048},     {"64K", 65536}, {"2m", 2 << 20},
              {"1G", 1 << 30}, {"inf", INT64_MAX}, {"auto", -1},   {"", -1}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    ::setenv("HCOLL_ALLREDUCE_SHARP_MAX", row.text, 1);
    EXPECT_EQ(read(), "");
    EXPECT_EQ(settings.allreduce_bytes_max, row.bytes);
  }
  ::setenv("HCOLL_ALLREDUCE_SHARP_MAX", "1", 1);
  ::setenv("HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX", "2", 1);
  ::setenv("HCOLL_MAIN_IB", "mlx5_1:1", 1);
  EXPECT_EQ(read(), "");
  EXPECT_EQ(settings.allreduce_bytes_max, 2) << "the full name goes before its alias";
  EXPECT_STREQ(settings.devices, "mlx5_1:1");
}

TEST_F(Settings, published_defaults_give_way_to_values) {
  ::setenv("SUMAC_DEFAULTS", "2018", 1);
  EXPECT_EQ(read(), "");
  EXPECT_EQ(settings.allreduce_bytes_max, 256);
  ::setenv("HCOLL_ALLREDUCE_SHARP_MAX", "auto", 1);
  EXPECT_EQ(read(), "");
  EXPECT_EQ(settings.allreduce_bytes_max, -1);
  ::setenv("SUMAC_DEFAULTS", "2019", 1);
  EXPECT_EQ(read(), "SUMAC_DEFAULTS=2019: expected sumac or 2018");
}

TEST_F(Settings, a_wrong_value_is_named_with_what_is_legal) {
  const struct {
    const char *name, *text, *says;
  } rows[] = {
      {"HCOLL_ENABLE_SHARP", "5", "HCOLL_ENABLE_SHARP=5: expected a whole number from 0 to 4"},
      {"HCOLL_ENABLE_SHARP", "-1", "HCOLL_ENABLE_SHARP=-1: expected a whole number from 0 to 4"},
      {"HCOLL_ENABLE_SHARP", "yes", "HCOLL_ENABLE_SHARP=yes: expected a whole number from 0 to 4"},
      {"HCOLL_SHARP_NP", "0", "HCOLL_SHARP_NP=0: expected a whole number from 1 to 1000000"},
      {"HCOLL_SHARP_NP", "99999999999999999999",
       "HCOLL_SHARP_NP=99999999999999999999: expected a whole number from 1 to 1000000"},
      {"HCOLL_ALLREDUCE_SHARP_MAX", "2KB",
       "HCOLL_ALLREDUCE_SHARP_MAX=2KB: expected bytes such as 2048, 64K or inf, or auto"},
      {"HCOLL_ALLREDUCE_SHARP_MAX", "9999999999G",
       "HCOLL_ALLREDUCE_SHARP_MAX=9999999999G: expected bytes such as 2048, 64K or inf, or auto"},
      {"HCOLL_ALLREDUCE_SHARP_MAX", "K",
       "HCOLL_ALLREDUCE_SHARP_MAX=K: expected bytes such as 2048, 64K or inf, or auto"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    ::setenv(row.name, row.text, 1);
    EXPECT_EQ(read(), row.says);
    ::unsetenv(row.name);
  }
}

TEST_F(Settings, an_unknown_name_is_told_with_what_was_meant) {
  ::setenv("HCOLL_ENABLE_SHRAP", "1", 1);
  EXPECT_THAT(warnings(), ElementsAre("unknown variable HCOLL_ENABLE_SHRAP: did you mean HCOLL_ENABLE_SHARP?"));
  ::unsetenv("HCOLL_ENABLE_SHRAP");
  ::setenv("HCOLL_TOTALLY_DIFFERENT", "1", 1);
  EXPECT_THAT(warnings(), ElementsAre("unknown variable HCOLL_TOTALLY_DIFFERENT"));
  ::unsetenv("HCOLL_TOTALLY_DIFFERENT");
  const std::string endless = "HCOLL_" + std::string(1000, 'X');
  ::setenv(endless.c_str(), "1", 1);
  EXPECT_EQ(warnings().size(), 1u);
}

TEST_F(Settings, names_of_other_tables_are_known_and_suggested) {
  for (const char* name : {"HCOLL_SBGP", "HCOLL_ML_DISABLE_BCAST"}) ::setenv(name, "1", 1);
  EXPECT_THAT(warnings(), IsEmpty());
  ::setenv("HCOLL_SBPG", "p2p", 1);
  EXPECT_THAT(warnings(), ElementsAre("unknown variable HCOLL_SBPG: did you mean HCOLL_SBGP?"));
}

TEST_F(Settings, what_has_an_effect_is_not_told) {
  for (const char* name : {"HCOLL_MAIN_IB", "HCOLL_ENABLE_SHARP", "HCOLL_ALLREDUCE_SHARP_MAX"}) ::setenv(name, "1", 1);
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(Settings, the_progress_thread_is_asked_for) {
  EXPECT_EQ(read(), "");
  EXPECT_EQ(settings.progress_thread, 0);
  ::setenv("SUMAC_PROGRESS_THREAD", "1", 1);
  EXPECT_EQ(read(), "");
  EXPECT_EQ(settings.progress_thread, 1);
  ::setenv("SUMAC_PROGRESS_THREAD", "yes", 1);
  EXPECT_EQ(read(), "SUMAC_PROGRESS_THREAD=yes: expected 0 or 1");
  ::unsetenv("SUMAC_PROGRESS_THREAD");
}

TEST_F(Settings, a_binding_that_is_switched_off_reads_nothing_else) {
  ::setenv("HCOLL_ENABLE_SHARP", "yes", 1);
  ::setenv("SUMAC_ENABLE", "0", 1);
  EXPECT_EQ(read(), "");
  EXPECT_EQ(settings.enable, 0);
  ::setenv("SUMAC_ENABLE", "1", 1);
  EXPECT_EQ(read(), "HCOLL_ENABLE_SHARP=yes: expected a whole number from 0 to 4");
  EXPECT_EQ(settings.enable, 1);
  for (const char* text : {"2", "-1", "no"}) {
    SCOPED_TRACE(text);
    ::setenv("SUMAC_ENABLE", text, 1);
    EXPECT_EQ(read(), std::string("SUMAC_ENABLE=") + text + ": expected 0 or 1");
  }
}

}  // namespace
