// Feeds any bytes as the report of another host: they must be refused with a reason, or give texts that can be printed.
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "base/utf8.hpp"
#include "tools/doctor/report.hpp"

SUMAC_FUZZ(doctor_report) {
  using namespace sumac;
  using namespace sumac::tools::doctor;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto printed = printable(text);
  fuzz::must(printable(printed) == printed, "what was made printable is printable");
  const auto report = parse_report(text);
  fuzz::must(report || !report.error().context.empty(), "a refusal has a reason");
  if (!report) return 0;
  for (const auto& finding : report->findings)
    for (const auto& word : {finding.subject, finding.found, finding.remedy})
      fuzz::must(printable(word) == word && word.size() <= kTextMax, "a text can be printed");
  fuzz::must(report->facts.names.size() <= kListMax, "lists are bounded");
  // A report that was read is written and read again without a change.
  const auto written = text_of(to_json(*report));
  const auto again = parse_report(written);
  fuzz::must(again && text_of(to_json(*again)) == written, "a report survives its own form");
  return 0;
}
