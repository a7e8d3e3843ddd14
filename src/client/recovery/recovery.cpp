#include "client/recovery/recovery.hpp"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "client/comm.hpp"
#include "client/context.hpp"
#include "wire/host_codec.hpp"

namespace sumac::client {
namespace {

// The tree's transport knows its other readers by small numbers (multicast).
constexpr std::uint32_t kMembersToken = 0x7fffffff, kPokeToken = 0x7ffffffe;
/// While calls of the program come so often, they answer, and the thread only sees to it that they go on coming.
constexpr Millis kCallsAnswer{5};
constexpr std::size_t kLeftMax = 1024;
/// systemd waits one second before it starts a service again.
constexpr Millis kSharpdAgainFirst{500}, kSharpdAgainMax{32'000}, kSharpdAnswersWithin{200};

struct AddressRecord {
  std::array<char, 192> text{};  ///< Its address, or the reason why it cannot listen.
  bool can = false;
};

}  // namespace

Result<std::unique_ptr<Recovery>> Recovery::make(Context& context, const std::string& local) {
  const Job& job = context.job();
  std::unique_ptr<Recovery> made(new Recovery(context));
  const auto colon = local.rfind(':');
  if (colon == std::string::npos) return fail(Errc::unsupported, "the connection to the tree has no address");
  auto links = MemberLinks::make({.job_id = job.id,
                                  .key = job.granted.job_key,
                                  .self = context.world_rank(),
                                  .members = static_cast<std::uint32_t>(job.rank_host.size()),
                                  .listen = local.substr(0, colon) + ":0",
                                  .silent_for = context.config().node_lost_after},
                                 *made, context.log());
  if (!links) return tl::unexpected(links.error());
  made->links_ = *std::move(links);
  made->poke_ = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!made->poke_) return fail_errno("eventfd");
  made->again_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!made->again_) return fail_errno("timerfd_create");
  if (const Errc added = context.transport().add_reader(made->links_->wake_fd(), kMembersToken); added != Errc::ok)
    return fail(added, "this transport carries no messages between members");
  if (const Errc added = context.transport().add_reader(made->poke_.get(), kPokeToken); added != Errc::ok)
    return fail(added, "epoll_ctl failed");
  return made;
}

Recovery::~Recovery() {
  stop();
  if (links_) context_.transport().remove_reader(links_->wake_fd());
  if (poke_) context_.transport().remove_reader(poke_.get());
}

Outcome<std::string> Recovery::meet(const Oob& world, const Result<std::unique_ptr<Recovery>>& mine) {
  const std::string text = mine ? (*mine)->links_->address() : mine.error().context;
  AddressRecord record;
  record.can = mine && text.size() < record.text.size();
  std::ranges::copy(text.substr(0, record.text.size() - 1), record.text.begin());
  auto records = world.gather(record);
  if (!records) return tl::unexpected(records.error());
  records->resize(static_cast<std::size_t>(world.size()));
  if (auto told = world.bcast(std::as_writable_bytes(std::span(*records))); !told) return tl::unexpected(told.error());
  std::vector<std::string> addresses;
  for (const auto& each : *records)
    addresses.emplace_back(each.text.data(), ::strnlen(each.text.data(), each.text.size()));
  if (const auto cannot = std::ranges::find(*records, false, &AddressRecord::can); cannot != records->end()) {
    const auto rank = static_cast<std::size_t>(cannot - records->begin());
    return fmt::format("rank {}: {}", rank, addresses[rank]);
  }
  (*mine)->links_->know(std::move(addresses));
  return std::string();
}

Result<> Recovery::start() { return sleeper_.start(); }

// ---- what comes

bool Recovery::on_readable(std::uint32_t token) {
  if (token != kMembersToken && token != kPokeToken) return false;
  looks_soon();
  if (token == kMembersToken) return has_come_ = true;
  is_poked_ = false;
  eventfd_t times = 0;
  (void)::eventfd_read(poke_.get(), &times);
  return true;
}

std::size_t Recovery::look_around() {
  if ((std::exchange(sharpd_has_come_, false) || !sleeper_.runs()) && !sharpd_is_gone_) hear_sharpd();
  if (sharpd_is_gone_ && !sleeper_.runs()) seek_sharpd();
  const std::size_t events = links_->progress(std::exchange(has_come_, false));
  is_idle_.store(sleeper_.runs() && links_->arm() && links_->next_due() == kNever, std::memory_order_relaxed);
  return events;
}

void Recovery::run_groups() {
  for (Comm* comm : context_.comms())
    if (!comm->is_calm()) comm->run_group(monotonic_now());
}

Comm* Recovery::comm_of(proto::recovery::GroupKey group) const noexcept {
  for (Comm* comm : context_.comms())
    if (comm->is_group(group)) return comm;
  return nullptr;
}

void Recovery::on_member_message(WorldRank from, std::span<const std::byte> frame) {
  const auto group = proto::recovery::group_of(frame);
  if (!group) return links_->drop(from, Error{Errc::invalid, "a message without a group"});
  Comm* comm = comm_of(*group);
  const bool has_left = comm != nullptr ? comm->has_left_for_good(*group) : std::ranges::count(left_, *group) != 0;
  if (has_left) return links_->note(from, MemberWord::departed, number_of(group->group), group->tree);
  // A member that joins later finds the tree lost, and tells all that it never stood.
  if (comm != nullptr) comm->hear_member(from, frame, monotonic_now());
}

void Recovery::on_member_note(WorldRank from, MemberWord word, std::uint32_t number, TreeId tree) {
  if (word == MemberWord::died) return die(WorldRank{number});
  const proto::recovery::GroupKey group{tree, GroupId{number}};
  if (Comm* comm = comm_of(group); comm != nullptr) comm->member_departed(group, from, monotonic_now());
}

void Recovery::on_member_lost(WorldRank peer) {
  for (Comm* comm : context_.comms()) comm->lost_member(peer, monotonic_now());
}

void Recovery::on_member_unreached(WorldRank peer) { die(peer); }

void Recovery::die(WorldRank dead) {
  if (number_of(dead) >= context_.job().rank_host.size() || std::ranges::count(deaths_, dead) != 0) return;
  deaths_.push_back(dead);
  SUMAC_DEBUG(context_.log(), "rank {} of the job is dead", dead);
  for (Comm* comm : context_.comms()) comm->member_died(dead, monotonic_now());
}

void Recovery::note_left(proto::recovery::GroupKey group) noexcept {
  left_.push_back(group);
  if (left_.size() > kLeftMax) left_.pop_front();
}

void Recovery::hear_sharpd() {
  for (;;) {
    const auto word = context_.session().next_word(context_.job().id);
    if (word && word->header.kind == wire::HostKind::rank_died) {
      die(wire::host_entry<wire::MemberBody>(*word).world_rank);
      continue;
    }
    const auto read = word ? read_trees(*word) : tl::unexpected(word.error());
    if (read) continue;
    const auto& why = read.error();
    if (why.code == Errc::timeout) return;
    sharpd_is_gone_ = true;
    if (why.code == Errc::lost) {
      SUMAC_DEBUG(context_.log(), "sharpd is gone: {}", why.context);
      sharpd_pause_ = kSharpdAgainFirst;
      sharpd_again_at_ = monotonic_now() + sharpd_pause_;
    } else {
      SUMAC_WARN(context_.log(), "deaths of ranks are not heard of any more: {}", why.context);
    }
    return;
  }
}

/// A restarted sharpd knows its ranks no more: each enters again, for the deaths and the trees to come.
void Recovery::seek_sharpd() {
  if (monotonic_now() < sharpd_again_at_) return;
  const Job& job = context_.job();
  const auto entered =
      context_.session().enter_again(job.id, context_.world_rank(), job.granted.job_key, kSharpdAnswersWithin);
  if (!entered) {
    SUMAC_DEBUG(context_.log(), "sharpd is not back: {}", entered.error().text);
    sharpd_pause_ = std::min(2 * sharpd_pause_, kSharpdAgainMax);
    sharpd_again_at_ = monotonic_now() + sharpd_pause_;
    return;
  }
  SUMAC_DEBUG(context_.log(), "sharpd is back");
  sharpd_is_gone_ = false;
  sharpd_again_at_ = kNever;
  trees_.reset();
}

/// Trees that the job has again come in several messages.
Result<> Recovery::read_trees(const wire::HostMessage& message) {
  const Job& job = context_.job();
  if (message.header.kind == wire::HostKind::job_granted) trees_.emplace(job.id, job.hosts);
  if (!trees_) return fail(Errc::invalid, "{} came where job_granted was due", wire::describe(message.header));
  if (auto read = trees_->read(message); !read) return read;
  if (!trees_->whole()) return {};
  Grant grant = trees_->take();
  trees_.reset();
  if (grant.job.times_again <= times_again_) return {};  // It was told twice.
  times_again_ = grant.job.times_again;
  SUMAC_DEBUG(context_.log(), "the job has trees again (time {})", times_again_);
  context_.take_trees(std::move(grant), times_again_);
  return {};
}

// ---- the thread

bool Recovery::has_group_without_tree() const noexcept {
  return std::ranges::any_of(context_.comms(), [](const Comm* comm) { return comm->is_without_tree(); });
}

bool Recovery::calls_come() const noexcept {
  return waiting_.load(std::memory_order_relaxed) > 0 || calls_.load(std::memory_order_relaxed) != calls_seen_;
}

/// As long as all groups have their trees the thread waits for the trees' ends, for other members' messages and for
/// sharpd's word: data that come from a tree do not wake it.
Sleeper::Plan Recovery::plan() {
  auto guard = context_.lock();
  Sleeper::Plan plan;
  const bool come = calls_come();
  calls_seen_ = calls_.load(std::memory_order_relaxed);
  if (is_poked_ && waiting_.load(std::memory_order_relaxed) > 0) {
    plan.until = monotonic_now() + kCallsAnswer;  // The call is about to look.
    return plan;
  }
  if (!sharpd_is_gone_) plan.on.push_back({context_.session().fd(), POLLIN, 0});
  plan.on.push_back({again_.get(), POLLIN, 0});
  if (has_group_without_tree()) {
    if (come) {
      plan.until = std::min(sharpd_again_at_, monotonic_now() + kCallsAnswer);
      return plan;
    }
    plan.works_now = !context_.transport().arm() || !links_->arm();
    plan.until =
        std::min({context_.transport().next_due(), context_.datagrams_due(), links_->next_due(), sharpd_again_at_});
    plan.on.push_back({context_.transport().wake_fd(), POLLIN, 0});
    return plan;
  }
  plan.works_now = !links_->arm();
  plan.until = std::min(links_->next_due(), sharpd_again_at_);
  plan.on.push_back({links_->wake_fd(), POLLIN, 0});
  for (const auto& link : context_.links())
    if (const int fd = context_.transport().descriptor(link->conn()); fd >= 0 && !link->closed())
      plan.on.push_back({fd, POLLRDHUP, 0});
  return plan;
}

void Recovery::await_datagrams(bool is_over) noexcept {
  if (pause_.sent(is_over)) set_repeat_timer();
}

void Recovery::set_repeat_timer() noexcept {
  const auto after = std::max<Duration>(pause_.length(), context_.datagrams_due() - monotonic_now());
  const itimerspec once{{}, {after / Seconds(1), (after % Seconds(1)).count()}};
  (void)::timerfd_settime(again_.get(), 0, &once, nullptr);  // It fails for wrong arguments alone.
}

/// The timer has rung. A call that waits sends what is due by itself.
void Recovery::repeat_datagrams() {
  std::uint64_t times = 0;
  (void)!::read(again_.get(), &times, sizeof times);
  if (waiting_.load(std::memory_order_relaxed) == 0) context_.progress();
  const bool is_open = context_.datagrams_due() != kNever;
  pause_.over(is_open);
  if (is_open) set_repeat_timer();
}

/// A call that waits may sleep in the transport, which only that call may touch then. So it is woken, and looks itself.
void Recovery::work(const Sleeper::Plan& plan) {
  auto guard = context_.lock();
  const bool sharpd_spoke = !sharpd_is_gone_ && !plan.on.empty() && plan.on.front().revents != 0;
  if (sharpd_is_gone_) seek_sharpd();  // It touches the socket alone.
  const auto has_rung = [&](const pollfd& one) { return one.revents != 0 && one.fd == again_.get(); };
  const bool is_due = std::ranges::any_of(plan.on, has_rung);
  if (is_due) repeat_datagrams();
  const bool others_spoke =
      plan.works_now || std::ranges::any_of(plan.on, [&](const auto& one) { return one.revents && !has_rung(one); });
  if (is_due && !others_spoke) return;
  if (sharpd_spoke) sharpd_has_come_ = true;
  if (waiting_.load(std::memory_order_relaxed) > 0) {
    if (!others_spoke || is_poked_) return;
    has_come_ = true;
    looks_soon();
    is_poked_ = ::eventfd_write(poke_.get(), 1) == 0;
    return;
  }
  if (std::exchange(sharpd_has_come_, false)) hear_sharpd();
  // While calls come they look themselves.
  if (!others_spoke && calls_come()) return;
  has_come_ = true;
  looks_soon();
  context_.progress();
}

}  // namespace sumac::client
