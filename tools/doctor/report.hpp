#pragma once
// The report of one host as JSON: its facts, and the findings that it made of them. A report of another host is checked
// before it is believed: its size, the type of every field, and the characters of every text.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tools/doctor/facts.hpp"
#include "tools/doctor/finding.hpp"

namespace sumac::tools::doctor {

/// Raised when a field changes its meaning; new fields do not raise it.
inline constexpr int kForm = 1;
inline constexpr std::size_t kReportBytesMax = 4u << 20;
inline constexpr std::size_t kListMax = 4096;
inline constexpr std::size_t kFindingsMax = 512;
inline constexpr std::size_t kTextMax = 2048;

struct Report {
  Facts facts;
  Findings findings;
};

nlohmann::json to_json(const Findings& findings);
nlohmann::json to_json(const Report& report);
/// Writes JSON without failing on bytes that are no UTF-8.
std::string text_of(const nlohmann::json& json, int indent = -1);

/// Errc::unsupported: a report in another form, from another version, which the error names. Errc::invalid: it is no
/// report.
Result<Report> parse_report(std::string_view text);

}  // namespace sumac::tools::doctor
