#include "hostd/uplink.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "control/absence.hpp"
#include "control/command_line.hpp"

namespace sumac::hostd {

using control::v1::HostDown;
using control::v1::HostUp;

Answer Uplink::ended(Ticket ticket) {
  Answer answer;
  answer.ticket = ticket;
  answer.down.mutable_ended()->set_ticket(ticket);
  return answer;
}

std::string Uplink::silent() const {
  return fmt::format("the manager at {} has not answered for {} ms: is it stopped?", rules_.manager,
                     std::chrono::duration_cast<Millis>(rules_.timeout).count());
}

UplinkActions Uplink::open() {
  HostUp up;
  auto* who = up.mutable_register_();
  who->set_version(control::kControlVersion);
  who->set_release(std::string(control::version_text()));
  who->set_host(rules_.host);
  who->set_life(rules_.life);
  who->set_pid(static_cast<std::uint32_t>(::getpid()));
  for (const auto& [ticket, job] : jobs_) {
    auto* held = who->add_jobs();
    held->set_ticket(ticket);
    held->set_job_id(job.begin.job_id());
    held->set_granted(job.phase == Phase::held);
  }
  state_ = State::opening;
  return {OpenStream{std::move(up)}};
}

void Uplink::send_begin(UplinkActions& out, Job& job, Time now) {
  HostUp up;
  *up.mutable_begin() = job.begin;
  // A manager that has been started again knows nothing of the time that the job has waited.
  if (job.begin.queue_seconds() != 0) {
    const auto left = std::chrono::ceil<Seconds>(job.deadline - rules_.timeout - now).count();
    up.mutable_begin()->set_queue_seconds(static_cast<std::uint32_t>(std::max<std::int64_t>(left, 1)));
  }
  job.sent = true;
  out.push_back(SendUp{std::move(up)});
}

void Uplink::send_end(UplinkActions& out, Ticket ticket, const Job& job, const std::string& why) {
  HostUp up;
  up.mutable_end()->set_ticket(ticket);
  up.mutable_end()->set_job_id(job.begin.job_id());
  up.mutable_end()->set_why(why);
  out.push_back(SendUp{std::move(up)});
}

void Uplink::adopt(Ticket ticket, JobId job_id) {
  auto& job = jobs_[ticket];
  job.begin.set_ticket(ticket);
  job.begin.set_job_id(number_of(job_id));
  job.phase = Phase::held;
  job.sent = true;
}

UplinkActions Uplink::begin(Ticket ticket, control::v1::JobBegin begin, Time now) {
  begin.set_ticket(ticket);
  auto& job = jobs_[ticket];
  job.begin = std::move(begin);
  job.deadline = deadline_after(now, rules_.timeout + Seconds(job.begin.queue_seconds()));
  UplinkActions out;
  if (state_ == State::up) send_begin(out, job, now);
  if (state_ == State::closed) return open();  // A caller is waiting, so the stream is opened without delay.
  return out;
}

UplinkActions Uplink::end(Ticket ticket, Time now) {
  const auto found = jobs_.find(ticket);
  if (found == jobs_.end()) return {ended(ticket)};
  if (state_ != State::up) {
    // The manager learns of the end when the next registration no longer names the job. A registration that is already
    // sent did name it, so the end is sent after it.
    if (state_ == State::opening) {
      found->second.phase = Phase::ending;
      found->second.deadline = deadline_after(now, rules_.timeout);
      return {};
    }
    jobs_.erase(found);
    return {ended(ticket)};
  }
  UplinkActions out;
  send_end(out, ticket, found->second, "");
  found->second.phase = Phase::ending;
  found->second.deadline = deadline_after(now, rules_.timeout);
  return out;
}

UplinkActions Uplink::drop(Ticket ticket, const std::string& why, Time now) {
  const auto found = jobs_.find(ticket);
  if (found == jobs_.end()) return {};
  UplinkActions out;
  if (state_ == State::opening) {
    // The end is sent as soon as the stream is open; no session receives the answer.
    found->second.phase = Phase::ending;
    found->second.deadline = deadline_after(now, rules_.timeout);
    return out;
  }
  if (state_ == State::up && found->second.phase != Phase::ending) send_end(out, ticket, found->second, why);
  jobs_.erase(found);
  return out;
}

UplinkActions Uplink::rank_died(control::v1::RankDied word, Time now, std::string page) {
  // A page of many communicators has 61 KiB; those of one user push out no other's.
  constexpr std::size_t kDeathsMax = 4096;
  constexpr int kPagesMax = 64, kPagesOfUserMax = 16;
  if (deaths_.size() >= kDeathsMax) deaths_.pop_front();
  deaths_.push_back({now, word, std::move(page)});
  int pages = 0, of_user = 0;
  for (auto death = deaths_.rbegin(); death != deaths_.rend() && !deaths_.back().page.empty(); ++death) {
    if (death->page.empty()) continue;
    of_user += death->word.uid() == word.uid();
    if (++pages > kPagesMax || (of_user > kPagesOfUserMax && death->word.uid() == word.uid())) death->page = {};
  }
  if (state_ != State::up) return {};
  HostUp up;
  *up.mutable_rank_died() = std::move(word);
  return {SendUp{std::move(up)}};
}

std::vector<control::v1::RankDied> Uplink::deaths_of(JobId job_id) const {
  std::vector<control::v1::RankDied> all;
  for (const auto& death : deaths_)
    if (death.word.job_id() == number_of(job_id)) all.push_back(death.word);
  for (const auto& word : elsewhere_)
    if (word.job_id() == number_of(job_id)) all.push_back(word);
  return all;
}

UplinkActions Uplink::inspectable(std::string address) {
  inspectable_ = std::move(address);
  if (state_ != State::up) return {};
  HostUp up;
  up.mutable_inspectable()->set_address(inspectable_);
  return {SendUp{std::move(up)}};
}

void Uplink::ask_for_daemons(UplinkActions& out, JobId job_id, const Joined& job) const {
  if (state_ != State::up) return;
  HostUp up;
  up.mutable_job_daemons()->set_job_id(number_of(job_id));
  up.mutable_job_daemons()->set_job_key(job.key.data(), job.key.size());
  out.push_back(SendUp{std::move(up)});
}

UplinkActions Uplink::joined(JobId job_id, const Secret& key) {
  UplinkActions out;
  auto& job = joined_[job_id];
  if (++job.ranks > 1 && same_secret(job.key, key)) return out;
  if (job.daemons) return out;  // A process with another key changes nothing.
  job.key = key;
  ask_for_daemons(out, job_id, job);
  return out;
}

void Uplink::left(JobId job_id) {
  const auto found = joined_.find(job_id);
  if (found != joined_.end() && --found->second.ranks == 0) joined_.erase(found);
}

const std::vector<control::v1::JobDaemon>* Uplink::daemons_of(JobId job_id) const {
  const auto found = joined_.find(job_id);
  return found == joined_.end() || !found->second.daemons ? nullptr : &*found->second.daemons;
}

UplinkActions Uplink::want_trees(JobId job_id, const Secret& key, std::uint32_t times_again) const {
  if (state_ != State::up) return {};
  HostUp up;
  auto& word = *up.mutable_trees_wanted();
  word.set_job_id(number_of(job_id));
  word.set_job_key(key.data(), key.size());
  word.set_times_again(times_again);
  return {SendUp{std::move(up)}};
}

const control::v1::JobTrees* Uplink::trees_of(JobId job_id) const {
  const auto found = std::ranges::find(trees_, number_of(job_id), &control::v1::JobTrees::job_id);
  return found == trees_.end() ? nullptr : &*found;
}

UplinkActions Uplink::registered(const control::v1::HostRegistered& who, Time now) {
  UplinkActions out;
  state_ = State::up;
  in_fabric_ = true;
  if (!std::exchange(told_, {}).empty())
    out.push_back(Note{false, fmt::format("the manager at {} is back", rules_.manager)});
  renew_every_ = Millis(std::max<std::uint32_t>(who.renew_ms(), 10));
  renew_at_ = now + renew_every_;
  for (const auto ticket : who.gone()) {
    const auto found = jobs_.find(ticket);
    if (found == jobs_.end()) continue;
    if (found->second.phase == Phase::held)
      out.push_back(Answer{ticket, true, {}, Error{Errc::not_found, "the manager does not know this job any more"}});
    else
      out.push_back(ended(ticket));
    jobs_.erase(found);
  }
  if (!inspectable_.empty())
    for (auto& action : inspectable(inspectable_)) out.push_back(std::move(action));
  for (const auto& [job_id, job] : joined_)
    if (!job.daemons) ask_for_daemons(out, job_id, job);
  // Deaths are sent before ends: nodes hear of one only while they have the job.
  for (const auto& death : deaths_) {
    if (now - death.when > rules_.deaths_told) continue;
    HostUp up;
    *up.mutable_rank_died() = death.word;
    out.push_back(SendUp{std::move(up)});
  }
  for (auto& [ticket, job] : jobs_) {
    if (job.phase == Phase::asked) send_begin(out, job, now);
    if (job.phase == Phase::ending)
      send_end(out, ticket, job, "it ended while the stream to the manager was being opened");
  }
  return out;
}

UplinkActions Uplink::heard(const HostDown& down, Time now) {
  const auto about = [&](Ticket ticket) { return jobs_.find(ticket); };
  switch (down.what_case()) {
    case HostDown::kRegistered: return registered(down.registered(), now);
    case HostDown::kGranted: {
      const auto job = about(down.granted().ticket());
      if (job == jobs_.end() || job->second.phase != Phase::asked) return {};
      job->second.phase = Phase::held;
      job->second.begin.clear_hosts();  // Only a begin without an answer is sent again.
      return {Answer{job->first, false, down, {}}};
    }
    case HostDown::kRefused: {
      const auto job = about(down.refused().ticket());
      if (job == jobs_.end() || job->second.phase != Phase::asked) return {};
      const auto ticket = job->first;
      jobs_.erase(job);
      return {Answer{ticket, false, down, {}}};
    }
    case HostDown::kEnded: {
      const auto job = about(down.ended().ticket());
      if (job == jobs_.end()) return {};
      const auto ticket = job->first;
      const auto phase = job->second.phase;
      jobs_.erase(job);
      if (phase == Phase::ending) return {Answer{ticket, false, down, {}}};
      return {Note{true, fmt::format("the manager ended the job of ticket {}: {:.300}", ticket, down.ended().why())},
              Answer{ticket, true, {}, Error{Errc::refused, down.ended().why()}}};
    }
    case HostDown::kPlace: {
      in_fabric_ = down.place().in_fabric();
      if (in_fabric_) return {Note{false, fmt::format("the fabric has host {} now", rules_.host)}};
      return {Note{true, fmt::format("the fabric has no host {}: add it to sharp_am's fabric file, or give --host NAME",
                                     rules_.host)}};
    }
    case HostDown::kJobDaemons: {
      const auto job = joined_.find(JobId{down.job_daemons().job_id()});
      if (job == joined_.end()) return {};
      job->second.daemons.emplace(down.job_daemons().daemons().begin(), down.job_daemons().daemons().end());
      return {};
    }
    case HostDown::kRankDied: {
      constexpr std::size_t kElsewhereMax = 4096;
      const auto& word = down.rank_died();
      const auto is_same = [&](const auto& one) {
        return one.job_id() == word.job_id() && one.world_rank() == word.world_rank() &&
               one.job_key() == word.job_key();
      };
      // The manager repeats what it knows at each registration.
      if (std::ranges::any_of(elsewhere_, is_same)) return {};
      if (elsewhere_.size() >= kElsewhereMax) elsewhere_.pop_front();
      elsewhere_.push_back(word);
      return {TellMembers{word}};
    }
    case HostDown::kJobTrees: {
      constexpr std::size_t kTreesMax = 256;  // Nobody says when a job ends of which this host has ranks.
      std::erase_if(trees_, [&](const auto& one) { return one.job_id() == down.job_trees().job_id(); });
      if (trees_.size() >= kTreesMax) trees_.pop_front();
      trees_.push_back(down.job_trees());
      return {TellTrees{down.job_trees()}};
    }
    case HostDown::WHAT_NOT_SET: break;
  }
  return {Note{true, "the manager sent a message that this sharpd does not know: install the same version everywhere"}};
}

UplinkActions Uplink::stream_over(const Error& why, Time now) {
  UplinkActions out;
  if (state_ == State::up) {
    away_until_ = now + rules_.away_max;
    retry_at_ = now;  // The manager may be back already.
  } else {
    retry_at_ = now + rules_.retry;
  }
  state_ = State::closed;
  renew_at_ = kNever;
  const bool refused = why.code != Errc::ok && why.code != Errc::lost && why.code != Errc::timeout;
  const auto text = why.context.empty() ? "the manager ended the stream" : why.context;
  if (control::is_news(told_, text))
    out.push_back(Note{true, fmt::format("{}{}; trying again", text,
                                         jobs_.empty() ? "" : fmt::format(": {} jobs go on", jobs_.size()))});
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    auto& [ticket, job] = *at;
    const bool waits = !refused && (job.sent || now < away_until_);
    if (job.phase == Phase::held || (job.phase == Phase::asked && waits)) {
      ++at;
      continue;
    }
    if (job.phase == Phase::ending)
      out.push_back(ended(ticket));
    else
      out.push_back(Answer{ticket, true, {}, Error{why.code == Errc::ok ? Errc::lost : why.code, text}});
    at = jobs_.erase(at);
  }
  return out;
}

UplinkActions Uplink::tick(Time now) {
  UplinkActions out;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    auto& [ticket, job] = *at;
    if (job.phase == Phase::held || job.deadline > now) {
      ++at;
      continue;
    }
    if (job.phase == Phase::ending) {
      out.push_back(ended(ticket));
    } else {
      out.push_back(Note{true, silent()});
      if (state_ == State::up) send_end(out, ticket, job, "given up: no answer in time");
      out.push_back(Answer{ticket, true, {}, Error{Errc::timeout, silent()}});
    }
    at = jobs_.erase(at);
  }
  if (state_ == State::closed && retry_at_ <= now)
    for (auto& action : open()) out.push_back(std::move(action));
  if (renew_at_ <= now) {
    renew_at_ = now + renew_every_;
    HostUp up;
    for (const auto& [ticket, job] : jobs_)
      if (job.phase == Phase::held) up.mutable_renew()->add_tickets(ticket);
    if (up.has_renew()) out.push_back(SendUp{std::move(up)});
  }
  return out;
}

Time Uplink::next_deadline() const {
  Time next = state_ == State::closed ? retry_at_ : kNever;
  if (!jobs_.empty()) next = std::min(next, renew_at_);
  for (const auto& [ticket, job] : jobs_)
    if (job.phase != Phase::held) next = std::min(next, job.deadline);
  return next;
}

}  // namespace sumac::hostd
