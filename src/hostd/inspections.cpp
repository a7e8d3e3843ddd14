#include "hostd/inspections.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "recorder/reader.hpp"

namespace sumac::hostd {
namespace {

using control::v1::DaemonView;
using control::v1::InspectReply;

/// A communicator that does not go on for so long is taken for one that waits.
constexpr Duration kBetweenLooks = Millis(50);
/// Daemons that were asked answer so much earlier than this one must.
constexpr Duration kToPassOn = Millis(100);
/// gRPC takes no message of control::kMessageBytesMax; a rank with few communicators takes 4 KiB.
constexpr std::size_t kReplyBytesMax = std::size_t{6} << 20;

std::string page_of(int fd) { return recorder::packed(fd).value_or(std::string()); }

void add(InspectReply& reply, DaemonView view) {
  const auto is_same = [&](const DaemonView& one) { return one.role() == view.role() && one.name() == view.name(); };
  if (std::ranges::any_of(reply.daemons(), is_same)) return;
  if (reply.ByteSizeLong() + view.ByteSizeLong() > kReplyBytesMax) {
    view.clear_ranks();
    for (auto& death : *view.mutable_deaths()) death.clear_page();
    view.set_silent("its ranks do not fit into one answer: ask there");
  }
  *reply.add_daemons() = std::move(view);
}

DaemonView silent(const std::string& role, const std::string& name, const std::string& why) {
  DaemonView view;
  view.set_role(role);
  view.set_name(name);
  view.set_silent(why);
  return view;
}

}  // namespace

Inspections::Inspections(std::string host, const control::WakeEvent& wake, std::shared_ptr<control::Tls> tls, Find find)
    : host_(std::move(host)), find_(std::move(find)), server_(wake), clients_(wake, std::move(tls)) {}

void Inspections::progress(Time now) {
  for (auto& call : server_.take()) begin(std::move(call), now);
  take_answers();
  for (auto at = open_.begin(); at != open_.end();) {
    Open& open = at->second;
    if (open.second_look_at <= now) look_again(open);
    if (open.second_look_at != kNever || open.asked != 0) {
      ++at;
      continue;
    }
    open.call->answer(std::move(open.reply));
    at = open_.erase(at);
  }
}

Time Inspections::next_due() const {
  Time next = kNever;
  for (const auto& [ticket, open] : open_) next = std::min(next, open.second_look_at);
  return next;
}

void Inspections::begin(std::unique_ptr<control::InspectCall> call, Time now) {
  auto job = find_(*call);
  if (!job) return call->answer(tl::unexpected(job.error()));
  const auto ticket = ++last_ticket_;
  Open& open = open_[ticket];
  open.call = std::move(call);
  open.deaths = std::move(job->deaths);
  open.second_look_at = now + kBetweenLooks;
  for (const auto& rank : job->ranks) {
    Seen seen;
    seen.view.set_pid(rank.pid);
    seen.view.set_uid(rank.uid);
    // The client may be gone at the second look.
    seen.page = UniqueFd(rank.page < 0 ? -1 : ::fcntl(rank.page, F_DUPFD_CLOEXEC, 0));
    seen.view.set_page_before(page_of(seen.page.get()));
    open.ranks.push_back(std::move(seen));
  }
  if (open.call->request().everywhere()) ask_others(ticket, open, *job, now);
}

void Inspections::ask_others(std::uint64_t ticket, Open& open, const InspectedJob& job, Time now) {
  if (!job.daemons) return add(open.reply, silent("", "", "the manager has not told this sharpd where they are"));
  control::v1::InspectRequest request;
  request.set_job_id(open.call->request().job_id());
  request.set_job_key(job.key.data(), job.key.size());
  const auto is_here = [&](const auto& one) { return one.role() == "host" && one.name() == host_; };
  // The list of the host that began the job has all daemons; any other has that host alone.
  request.set_everywhere(std::ranges::none_of(*job.daemons, is_here));
  for (const auto& daemon : *job.daemons) {
    if (is_here(daemon)) continue;
    clients_.ask(ticket, daemon, request, open.call->deadline() - now - kToPassOn);
    ++open.asked;
  }
}

void Inspections::look_again(Open& open) const {
  DaemonView own;
  own.set_role("host");
  own.set_name(host_);
  for (auto& seen : open.ranks) {
    recorder::Process process{.pid = seen.view.pid()};
    recorder::describe(process);
    seen.view.set_state(std::string(1, process.state));
    seen.view.set_program(process.program);
    seen.view.set_page(page_of(seen.page.get()));
    *own.add_ranks() = std::move(seen.view);
  }
  for (auto& death : open.deaths) *own.add_deaths() = std::move(death);
  own.set_monotonic_ns(monotonic_now().time_since_epoch().count());
  add(open.reply, std::move(own));
  open.ranks.clear();
  open.second_look_at = kNever;
}

void Inspections::take_answers() {
  for (auto& answer : clients_.take()) {
    const auto found = open_.find(answer.ticket);
    if (found == open_.end()) continue;
    Open& open = found->second;
    --open.asked;
    if (!answer.reply) {
      const auto& why = answer.reply.error();
      add(open.reply,
          silent(answer.of.role(), answer.of.name(), why.code == Errc::timeout ? "no answer in time" : why.context));
      continue;
    }
    for (auto& view : *answer.reply->mutable_daemons()) add(open.reply, std::move(view));
  }
}

}  // namespace sumac::hostd
