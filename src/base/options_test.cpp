#include "base/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace sumac {

enum class Mode { off, probe, force };
constexpr auto enum_names(Mode) {
  return std::array{EnumName<Mode>{"off", Mode::off}, EnumName<Mode>{"probe", Mode::probe},
                    EnumName<Mode>{"force", Mode::force}, EnumName<Mode>{"2", Mode::force}};
}

namespace {

struct Config {
  std::uint16_t ost_count;
  Bytes payload_max;
  Millis lost_after;
  Micros spin;
  bool enable;
  std::string device;
  Mode mode;
  std::optional<Bytes> largest;
  std::uint64_t batch;
  std::int32_t offset;
  Millis job_timeout;
  bool operator==(const Config&) const = default;
};

constexpr Option<Config> kTable[] = {
    option<&Config::ost_count>("SUMAC_T_OSTS", "512", "OSTs held at once.").between(1, 1024),
    option<&Config::payload_max>("SUMAC_T_PAYLOAD", "1KiB", "Payload of one message.").between(128, 1024).or_zero(),
    option<&Config::lost_after>("SUMAC_T_LOST_AFTER", "1s", "Silence."),
    option<&Config::spin>("SUMAC_T_SPIN", "20us", "Spin before sleeping."),
    option<&Config::enable>("SUMAC_T_ENABLE", "0", "On or off.").alias("enable"),
    option<&Config::device>("SUMAC_T_DEVICE", "", "Device."),
    option<&Config::mode>("SUMAC_T_MODE", "off", "Mode.").alias("SUMAC_T_OLD_MODE"),
    option<&Config::largest>("SUMAC_T_LARGEST", "auto", "Largest."),
    option<&Config::batch>("SUMAC_T_BATCH", "inf", "Batch."),
    option<&Config::offset>("SUMAC_T_OFFSET", "-3", "Offset.").hidden(),
    option<&Config::job_timeout>("SUMAC_T_JOB_TIMEOUT", "10000", "In ms, as it always was."),
};

Source pairs(std::vector<std::pair<std::string, std::string>> values, std::string what = "test") {
  return {std::move(what), [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
            for (const auto& [key, value] : values)
              if (key == name) return value;
            return std::nullopt;
          }};
}

TEST(Options, DefaultsComeFromTheTable) {
  const auto config = load<Config>(kTable);
  ASSERT_TRUE(config) << config.error().context;
  using namespace std::chrono_literals;
  EXPECT_EQ(*config,
            (Config{512, Bytes{1024}, 1000ms, 20us, false, "", Mode::off, std::nullopt, UINT64_MAX, -3, 10000ms}));
}

TEST(Options, EveryKindOfValue) {
  const auto config = load<Config>(kTable, pairs({{"SUMAC_T_OSTS", "0x40"},
                                                  {"SUMAC_T_PAYLOAD", "0"},
                                                  {"SUMAC_T_LOST_AFTER", "2min"},
                                                  {"SUMAC_T_SPIN", "3 ms"},
                                                  {"enable", "YES"},
                                                  {"SUMAC_T_DEVICE", "mlx5_0:1"},
                                                  {"SUMAC_T_OLD_MODE", "2"},
                                                  {"SUMAC_T_LARGEST", "64k"},
                                                  {"SUMAC_T_BATCH", "1"},
                                                  {"SUMAC_T_OFFSET", "7"},
                                                  {"SUMAC_T_JOB_TIMEOUT", "500"}}));
  ASSERT_TRUE(config) << config.error().context;
  using namespace std::chrono_literals;
  EXPECT_EQ(*config,
            (Config{64, Bytes{0}, 120000ms, 3000us, true, "mlx5_0:1", Mode::force, Bytes{65536}, 1, 7, 500ms}));
}

TEST(Options, TheCloserSourceWinsAndEmptyIsUnset) {
  const auto near = pairs({{"SUMAC_T_OLD_MODE", "probe"}, {"SUMAC_T_DEVICE", ""}}, "near");
  const auto far = pairs({{"SUMAC_T_MODE", "force"}, {"SUMAC_T_DEVICE", "eth0"}}, "far");
  const auto config = load<Config>(kTable, near, far);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->mode, Mode::probe);
  EXPECT_EQ(config->device, "eth0");
}

TEST(Options, ErrorsNameTheOptionTheValueTheSourceAndWhatIsLegal) {
  const struct {
    const char *name, *value, *error;
  } rows[] = {
      {"SUMAC_T_OSTS", "1025", "SUMAC_T_OSTS=1025 (test): out of range; legal is a whole number, from 1 to 1024"},
      {"SUMAC_T_OSTS", "0", "SUMAC_T_OSTS=0 (test): out of range; legal is a whole number, from 1 to 1024"},
      {"SUMAC_T_OSTS", "70000", "SUMAC_T_OSTS=70000 (test): out of range; legal is a whole number, from 1 to 1024"},
      {"SUMAC_T_OSTS", "12x", "SUMAC_T_OSTS=12x (test): not a whole number; legal is a whole number, from 1 to 1024"},
      {"SUMAC_T_OSTS", "-1", "SUMAC_T_OSTS=-1 (test): not a whole number; legal is a whole number, from 1 to 1024"},
      {"SUMAC_T_PAYLOAD", "127",
       "SUMAC_T_PAYLOAD=127 (test): out of range; legal is a size such as 512, 64k or 1MiB, 0 or from 128 to 1KiB"},
      {"SUMAC_T_PAYLOAD", "1x",
       "SUMAC_T_PAYLOAD=1x (test): unknown unit 'x'; legal is a size such as 512, 64k or 1MiB, 0 or from 128 to 1KiB"},
      {"SUMAC_T_LARGEST", "99999999999g",
       "SUMAC_T_LARGEST=99999999999g (test): too large; legal is auto or a size such as 512, 64k or 1MiB"},
      {"SUMAC_T_LOST_AFTER", "5us",
       "SUMAC_T_LOST_AFTER=5us (test): finer than ms; legal is a duration such as 200ms or 1s (bare: ms)"},
      {"SUMAC_T_LOST_AFTER", "fast",
       "SUMAC_T_LOST_AFTER=fast (test): does not begin with a whole number; legal is a duration such as 200ms or 1s "
       "(bare: ms)"},
      {"SUMAC_T_OLD_MODE", "on",
       "SUMAC_T_OLD_MODE=on (test): not one of the names; legal is one of off, probe, force, 2"},
      {"enable", "maybe",
       "enable=maybe (test): neither yes nor no; legal is 0 or 1 (also n/y, no/yes, off/on, false/true)"},
      {"SUMAC_T_OFFSET", "99999999999", "SUMAC_T_OFFSET=99999999999 (test): out of range; legal is a whole number"},
  };
  for (const auto& row : rows) {
    const auto config = load<Config>(kTable, pairs({{row.name, row.value}}));
    ASSERT_FALSE(config) << row.name << "=" << row.value;
    EXPECT_EQ(config.error().context, row.error);
  }
}

TEST(Options, DumpLoadsBackToTheSame) {
  auto config = load<Config>(
      kTable, pairs({{"SUMAC_T_LOST_AFTER", "1500ms"}, {"SUMAC_T_LARGEST", "3000"}, {"SUMAC_T_DEVICE", "x"}}));
  ASSERT_TRUE(config);
  const std::string text = dump<Config>(kTable, *config, {.hidden = true, .between = " "});
  EXPECT_EQ(text,
            "SUMAC_T_OSTS 512\nSUMAC_T_PAYLOAD 1KiB\nSUMAC_T_LOST_AFTER 1500ms\nSUMAC_T_SPIN 20us\nSUMAC_T_ENABLE 0\n"
            "SUMAC_T_DEVICE x\nSUMAC_T_MODE off\nSUMAC_T_LARGEST 3000\nSUMAC_T_BATCH inf\nSUMAC_T_OFFSET "
            "-3\nSUMAC_T_JOB_TIMEOUT 10000\n");
  auto file = KeyValues::parse(text, "dump");
  ASSERT_TRUE(file) << file.error().context;
  EXPECT_EQ(*load<Config>(kTable, file->source()), *config);
  EXPECT_EQ(dump<Config>(kTable, *config).find("OFFSET"), std::string::npos) << "hidden";
  EXPECT_NE(dump<Config>(kTable, *config, {.doc = true}).find("# Spin before sleeping.\n# Legal: a duration"),
            std::string::npos);
}

TEST(Options, DocumentIsATable) {
  const std::string text = document<Config>(kTable);
  EXPECT_NE(text.find("| `SUMAC_T_MODE`, `SUMAC_T_OLD_MODE` | `off` | one of off, probe, force, 2 | Mode. |\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("OFFSET"), std::string::npos);
  EXPECT_NE(document<Config>(kTable, true).find("OFFSET"), std::string::npos);
}

TEST(Options, KeyValueFiles) {
  const auto file = KeyValues::parse("# head\n\nenable  1\r\nSUMAC_T_DEVICE two words # why\n", "a.cfg");
  ASSERT_TRUE(file) << file.error().context;
  const auto config = load<Config>(kTable, file->source());
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->enable);
  EXPECT_EQ(config->device, "two words");
  EXPECT_EQ(KeyValues::parse("a 1\nb\n", "a.cfg").error().context,
            "a.cfg line 2: 'b' has no value; a line is `key value`");
  EXPECT_EQ(KeyValues::parse("a 1\na 2\n", "a.cfg").error().context, "a.cfg line 2: 'a' is set again, first on line 1");
  EXPECT_EQ(KeyValues::read_file("/nonexistent.cfg").error().context,
            "open configuration file /nonexistent.cfg: No such file or directory");
  EXPECT_EQ(KeyValues::read_file("/").error().context, "/ is a directory: name a configuration file");
}

TEST(Options, TheEnvironmentIsReadAtEachLookUp) {
  ::setenv("SUMAC_T_DEVICE", "first", 1);
  EXPECT_EQ(load<Config>(kTable, environment())->device, "first");
  ::setenv("SUMAC_T_DEVICE", "second", 1);
  ::setenv("enable", "1", 1);
  const auto config = load<Config>(kTable, environment());
  EXPECT_EQ(config->device, "second");
  EXPECT_FALSE(config->enable) << "a file's key is not looked up in the environment";
  ::unsetenv("SUMAC_T_DEVICE");
  ::unsetenv("enable");
}

TEST(Options, UnknownNamesAndTheirNeighbours) {
  std::vector<std::string> known;
  append_names<Config>(kTable, known);
  EXPECT_EQ(known.size(), 13U);
  const std::vector<std::string> seen{"SUMAC_T_OSTS", "SUMAC_T_OTSS", "HCOLL_SOMETHING_ELSE", "SUMAC_T_OLD_MODE"};
  const auto unknown = unknown_names(seen, known);
  ASSERT_EQ(unknown.size(), 2U);
  EXPECT_EQ(to_string(unknown[0]), "unknown variable SUMAC_T_OTSS: did you mean SUMAC_T_OSTS?");
  EXPECT_EQ(to_string(unknown[1]), "unknown variable HCOLL_SOMETHING_ELSE");
}

TEST(Options, OursAreTheThreePrefixes) {
  for (const char* name : {"SUMAC_Q1", "SHARP_COLL_Q2", "HCOLL_Q3", "SHARP_Q4", "XSUMAC_Q5"}) ::setenv(name, "1", 1);
  const auto names = our_environment_names();
  const auto has = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  EXPECT_TRUE(has("SUMAC_Q1") && has("SHARP_COLL_Q2") && has("HCOLL_Q3"));
  EXPECT_FALSE(has("SHARP_Q4") || has("XSUMAC_Q5"));
  for (const char* name : {"SUMAC_Q1", "SHARP_COLL_Q2", "HCOLL_Q3", "SHARP_Q4", "XSUMAC_Q5"}) ::unsetenv(name);
}

}  // namespace
}  // namespace sumac
