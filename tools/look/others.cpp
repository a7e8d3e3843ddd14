#include "tools/look/others.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/listed.hpp"
#include "base/utf8.hpp"
#include "control/inspect.hpp"
#include "tools/up/place.hpp"

namespace sumac::tools::look {
namespace {

using control::v1::DaemonView;
using control::v1::RankView;

constexpr std::string_view kSocketVariable = "SHARP_COLL_SHARPD_SOCKET_NAME";

void add_rank(Job& job, const RankView& view, const std::string& host, std::int64_t shift_ns) {
  auto page = recorder::decode_packed(view.page());
  if (!page || page->job != job.id) {
    job.notes.push_back(fmt::format("pid {} on {} has left no record of its collectives", view.pid(), host));
    return;
  }
  const bool is_known = std::any_of(job.ranks.begin(), job.ranks.end(),
                                    [&](const Rank& rank) { return rank.process.page.world_rank == page->world_rank; });
  if (is_known) return;
  Rank rank;
  rank.host = host;
  if (const auto before = recorder::decode_packed(view.page_before())) rank.before = begun_before(*before, *page);
  for (auto& track : page->tracks) track.since_ns += shift_ns;
  job.size = std::max(job.size, page->world_size);
  rank.process = {.pid = view.pid(),
                  .uid = view.uid(),
                  .state = view.state().empty() ? '?' : view.state().front(),
                  .program = printable(view.program()),
                  .page = *std::move(page)};
  job.ranks.push_back(std::move(rank));
}

/// Returns the socket that the job's processes were told of.
std::string socket_of(const Job& job) {
  if (!job.ranks.empty()) {
    std::ifstream file(fmt::format("/proc/{}/environ", job.ranks.front().process.pid));
    for (std::string word; std::getline(file, word, '\0');)
      if (word.starts_with(kSocketVariable) && word.size() > kSocketVariable.size() + 1 &&
          word[kSocketVariable.size()] == '=')
        return word.substr(kSocketVariable.size() + 1);
  }
  if (const char* set = std::getenv(kSocketVariable.data()); set != nullptr && *set != '\0') return set;
  if (const auto up = up_directory() + "/sharpd.sock"; ::access(up.c_str(), F_OK) == 0) return up;
  return "/run/sumac/sharpd.sock";
}

}  // namespace

void merge(Job& job, const control::v1::InspectReply& reply, const Now& now) {
  for (const DaemonView& daemon : reply.daemons()) {
    const auto name = printable(daemon.name());
    if (!daemon.silent().empty()) {
      job.notes.push_back(name.empty() ? fmt::format("other hosts are not seen: {}", printable(daemon.silent()))
                                       : fmt::format("{} {} does not answer: {}", printable(daemon.role()), name,
                                                     printable(daemon.silent())));
      continue;
    }
    const auto shift_ns = now.monotonic_ns - daemon.monotonic_ns();
    for (const auto& death : daemon.deaths()) {
      const auto page = recorder::decode_packed(death.page());
      const auto last = page && page->job == job.id ? last_text(*page, death.since_ns()) : "";
      job.notes.push_back(fmt::format("rank {} on {} died {} ago: {}{}{}", death.world_rank(), name,
                                      time_text(daemon.monotonic_ns() - death.since_ns()), printable(death.who()),
                                      last.empty() ? "" : "; ", last));
    }
    for (const auto& rank : daemon.ranks()) add_rank(job, rank, name, shift_ns);
    for (const auto& wait : daemon.waits()) {
      std::vector<std::string> children;
      for (const auto& child : wait.children()) children.push_back(printable(child));
      job.notes.push_back(fmt::format("node {} waits for {}, for {}", name, listed(children, " and "),
                                      time_text(daemon.monotonic_ns() - wait.since_ns())));
    }
  }
  std::stable_sort(job.ranks.begin(), job.ranks.end(),
                   [](const Rank& a, const Rank& b) { return a.process.page.world_rank < b.process.page.world_rank; });
  if (!job.ranks.empty()) job.uid = job.ranks.front().process.uid;
}

Answer ask_others(const Job& job, Time until) {
  // A job whose ranks are all here has no other hosts; its nodes may still tell for whom they wait.
  control::v1::InspectRequest request;
  request.set_job_id(job.id);
  request.set_everywhere(true);
  return control::inspect(fmt::format("unix:{}{}", socket_of(job), control::kInspectSuffix), request,
                          std::max<Duration>(until - monotonic_now(), Millis(1)));
}

bool add_others(Job& job, const Answer& answer, const Now& now) {
  if (answer) {
    merge(job, *answer, now);
    return true;
  }
  if (static_cast<int>(job.ranks.size()) < job.size)
    job.notes.push_back(
        fmt::format("the sharpd at {} shows no other host: {}", socket_of(job), answer.error().context));
  return false;
}

}  // namespace sumac::tools::look
