#include "client/oob.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/c_text.hpp"

namespace sumac::client {

Outcome<> Oob::bcast(std::span<std::byte> bytes) const {
  if (size_ == 1 || bytes.empty()) return {};
  if (bytes.size() > INT_MAX)
    return failure(SHARP_COLL_EOOB, "out-of-band bcast of {} bytes is too long", bytes.size());
  if (const int rc = functions_.bcast(context_, bytes.data(), static_cast<int>(bytes.size()), 0); rc < 0)
    return failure(SHARP_COLL_EOOB, "the caller's out-of-band bcast of {} bytes returned {}", bytes.size(), rc);
  return {};
}

Outcome<> Oob::gather_bytes(void* mine, void* all, std::size_t bytes) const {
  if (size_ == 1) {
    std::memcpy(all, mine, bytes);
    return {};
  }
  if (const int rc = functions_.gather(context_, 0, mine, all, static_cast<int>(bytes)); rc < 0)
    return failure(SHARP_COLL_EOOB, "the caller's out-of-band gather of {} bytes returned {}", bytes, rc);
  return {};
}

Outcome<> Oob::agree(const Outcome<>& mine) const {
  auto reports = gather(Report::of(mine));
  if (!reports) return tl::unexpected(reports.error());
  Report decided = first_failure(*reports);
  if (auto sent = bcast_value(decided); !sent) return sent;
  return decided.outcome();
}

Report Report::of(const Outcome<>& outcome) {
  Report report;
  if (outcome) return report;
  report.status = outcome.error().status;
  report.in_vain = outcome.error().in_vain ? 1 : 0;
  report.no_room = outcome.error().no_room ? 1 : 0;
  copy_text(outcome.error().text, report.text, sizeof report.text);
  if (::gethostname(report.host, sizeof report.host - 1) != 0) report.host[0] = '\0';
  return report;
}

Outcome<> Report::outcome() const {
  if (status == 0) return {};
  // It comes by way of whoever carries the caller's messages: a positive status would count as success.
  auto failed =
      failure(status < 0 ? status : SHARP_COLL_EOOB, "{}", std::string_view(text, ::strnlen(text, sizeof(text))));
  return no_room != 0 ? client::no_room(std::move(failed)) : failed;
}

Report first_failure(std::span<const Report> reports) {
  const auto failed = [](const Report& report) { return report.status != 0; };
  const auto knows_why = [](const Report& report) { return report.status != 0 && report.in_vain == 0; };
  auto first = std::ranges::find_if(reports, knows_why);
  if (first == reports.end()) first = std::ranges::find_if(reports, failed);
  if (first == reports.end()) return {};
  const auto outcome = first->outcome();
  const std::string_view host(first->host, ::strnlen(first->host, sizeof first->host));
  auto said = failure(outcome.error().status, "rank {}{}{}{}: {}", first - reports.begin(),
                      host.empty() ? "" : " (host ", host, host.empty() ? "" : ")", outcome.error().text);
  return Report::of(first->no_room != 0 ? no_room(std::move(said)) : said);
}

}  // namespace sumac::client
