#include "tools/doctor/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sumac::tools::doctor {
namespace {

using ::testing::HasSubstr;

Report example() {
  Report report;
  report.facts.host = "h1";
  report.facts.sumac = "0.1.0";
  report.facts.processors.quota = 1.5;
  report.facts.names = {{"h1", "", {"10.0.0.1", "fd00::1"}, 3}};
  report.facts.single_copy.works = true;
  report.findings = {{"/dev/shm", Health::note, "1 MiB free", "more"}, {"clock", Health::bad, "x", ""}};
  return report;
}

TEST(Report, survives_its_own_form) {
  const auto text = text_of(to_json(example()));
  const auto read = parse_report(text);
  ASSERT_TRUE(read) << read.error().context;
  EXPECT_EQ(text_of(to_json(*read)), text);
  EXPECT_EQ(text.find('\n'), std::string::npos) << "it is sent as one line";
}

TEST(Report, of_another_version_is_refused_with_the_remedy) {
  auto json = to_json(example());
  json["sumac_doctor"] = kForm + 1;
  json["version"] = "9.9";
  const auto read = parse_report(text_of(json));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::unsupported);
  EXPECT_THAT(read.error().context, HasSubstr("9.9"));
  EXPECT_THAT(read.error().context, HasSubstr("install one version"));
}

TEST(Report, with_fields_of_a_later_version_is_read) {
  auto json = to_json(example());
  json["facts"]["quantum"] = {{"qubits", 7}};
  json["facts"].erase("gpus");
  EXPECT_TRUE(parse_report(text_of(json)));
}

TEST(Report, what_makes_no_sense_is_refused) {
  const auto with = [](auto change) {
    auto json = to_json(example());
    change(json);
    return text_of(json);
  };
  const std::string rows[] = {
      "",
      "{",
      "[]",
      "7",
      "null",
      "{\"a\": 1}",
      std::string(100'000, '['),
      "{\"sumac_doctor\": \"1\"}",
      std::string("{\"sumac_doctor\": 1, \"x\": \"") + std::string(kReportBytesMax, 'x') + "\"}",
      with([](auto& j) { j["facts"] = 1; }),
      with([](auto& j) { j["facts"]["host"] = 1; }),
      with([](auto& j) { j["facts"]["processors"]["online"] = "many"; }),
      with([](auto& j) { j["facts"]["processors"]["online"] = 1.5; }),
      with([](auto& j) { j["facts"]["processors"]["online"] = UINT64_MAX; }),
      with([](auto& j) { j["facts"]["names"] = nlohmann::json::object(); }),
      with([](auto& j) {
        j["facts"]["names"][0]["addresses"] = {1, 2};
      }),
      with([](auto& j) { j["facts"]["paths"] = nlohmann::json(kListMax + 1, nlohmann::json::object()); }),
      with([](auto& j) { j["findings"][0]["health"] = "splendid"; }),
      with([](auto& j) { j["findings"] = "none"; }),
  };
  for (const auto& row : rows) {
    const auto read = parse_report(row);
    EXPECT_FALSE(read) << row.substr(0, 100);
    EXPECT_TRUE(read || !read.error().context.empty());
  }
}

TEST(Report, no_text_of_a_stranger_steers_a_terminal) {
  auto json = to_json(example());
  json["facts"]["host"] = "h\x1b[2Jevil\n\x7f\xc2\x9b";
  json["findings"][0]["found"] = std::string(3 * kTextMax, 'x');
  const auto read = parse_report(text_of(json));
  ASSERT_TRUE(read) << read.error().context;
  EXPECT_EQ(read->facts.host,
            "h?[2Jevil?"
            "???");
  EXPECT_EQ(read->findings[0].found.size(), kTextMax);
}

}  // namespace
}  // namespace sumac::tools::doctor
