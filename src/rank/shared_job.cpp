#include "rank/shared_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "client/fork_guard.hpp"
#include "client/tree/tree.h"
#include "rank/interrupt.hpp"
#include "rank/job.h"
#include "rank/oob.hpp"
#include "rank/say.h"

namespace sumac::rank {
namespace {

/// Each rank tells the others this before they decide.
struct Proposal {
  std::uint64_t job = 0;       ///< The number of the job that this process is in; 0: none.
  std::int64_t hosts_min = 0;  ///< HCOLL_SHARP_NP.
  std::int32_t level = 0;      ///< enum hcoll_level.
  std::int32_t is_set = 0;     ///< Whether HCOLL_ENABLE_SHARP says so.
  std::int32_t has_sharpd = 0;
  std::int32_t is_beginning = 0;  ///< Another team of this process is about to begin one.
};

/// This process's job, and whether a team is beginning one. Threads may outlive main().
struct Own {
  std::mutex lock;
  std::weak_ptr<Job> job;
  bool is_beginning = false;
};
Own& own() {
  static Own& object = *new Own;
  return object;
}

}  // namespace

Job::Job(const hcoll_settings& settings) : settings_(settings), mark_(client::process_mark()) {}

Job::~Job() {
  if (!client::same_process(mark_)) {
    daemons_.forget();
    static_cast<void>(new std::vector<Left>(std::move(left_)));  // Their connections are the parent's.
    return;
  }
  sumac_job_end();
  sumac_tree_settings(nullptr, 0);
}

void Job::keep(std::shared_ptr<p2p::TeamGroups> hosts, const Members& members) {
  const std::lock_guard guard(lock_);
  std::erase_if(left_, [](const Left& one) { return one.hosts->staying().empty(); });
  left_.push_back({std::move(hosts), members});
}

void Job::say_who_stays() {
  std::set<std::string> names;
  {
    const std::lock_guard guard(lock_);
    for (const Left& one : left_)
      for (const int rank : one.hosts->staying()) names.insert(one.members.name(rank));
  }
  const std::string who = names.empty() ? "other ranks" : fmt::format("{}", fmt::join(names, ", "));
  std::fprintf(
      stderr,
      "sumac: %s waits for %s, and at most 30 s, since their tree ends with it: destroy the process group or team "
      "there too\n",
      own_name_.c_str(), who.c_str());
}

bool Job::is_given_up() const { return ends_at_ctrl_c_.load(std::memory_order_relaxed) && is_interrupted(); }

/// Returns why there is no job; "" if there is.
Result<std::string> Job::begin(Exchange& exchange, const Members& members, const sumac_team_options_t* options) {
  const std::string& own = daemons_.sharpd_socket();
  // Tensors are large. A node of the job's own is on a host, whose link would be the bottleneck of a stream.
  sumac_tree_settings(own.empty() ? nullptr : own.c_str(), own.empty() ? 1 : 0);
  sumac_say_as(members.all[static_cast<std::size_t>(members.rank)].host.c_str(), static_cast<unsigned>(members.rank));
  own_name_ = members.name(members.rank);
  std::vector<sumac_place_t> places;
  for (const Member& member : members.all) places.push_back(member.place);
  Oob world(exchange, "the job");
  std::uint64_t id = members.rank == 0 ? sumac_job_draw_id() : 0;
  const int shared = world.record().bcast(world.record().context, &id, sizeof id, 0);
  const sumac_job_spec spec{.world = world.record(),
                            .id = shared == 0 ? id : 0,
                            .local_rank = members.index_here(),
                            .threads = true,  // Two teams may be moved by two threads.
                            .places = places.data(),
                            .settings = &settings_,
                            .options = options,
                            .progress = [](void*) {},
                            .progress_context = nullptr,
                            .watch_leaves = nullptr,
                            .can_go = members.rank != 0 && !daemons_.runs_some(),
                            .waits_long = [](void* self) { static_cast<Job*>(self)->say_who_stays(); },
                            .gives_up = [](void* self) { return static_cast<Job*>(self)->is_given_up(); },
                            .waits_context = this};
  int rc = 0;
  {
    const TreeBound bound(exchange);
    rc = sumac_job_begin(&spec);
  }
  world.close();
  if (rc != 0 || !world.error().empty())
    return fail(Errc::lost, "{}", world.error().empty() ? "no random number" : world.error());
  return sumac_job_stands() ? std::string() : fmt::format("the job was refused: {}", sumac_job_why_refused());
}

Result<Job::Found> Job::find(Exchange& exchange, const Members& members, const sumac_team_options_t* options) {
  hcoll_settings settings{};
  if (const char* wrong = hcoll_settings_read(&settings)) return fail(Errc::invalid, "{}", wrong);
  sumac_say_as(members.all[static_cast<std::size_t>(members.rank)].host.c_str(), static_cast<unsigned>(members.rank));
  const char* set = std::getenv("HCOLL_ENABLE_SHARP");
  std::shared_ptr<Job> standing;
  Proposal proposal;
  {
    const std::lock_guard guard(own().lock);
    standing = own().job.lock();
    proposal.is_beginning = own().is_beginning ? 1 : 0;
    own().is_beginning = true;
  }
  // However this ends, another team may begin one afterwards.
  struct Beginning {
    bool was;
    ~Beginning() {
      const std::lock_guard guard(own().lock);
      own().is_beginning = was;
    }
  } const beginning{proposal.is_beginning != 0};
  proposal.job = standing ? sumac_job_id() : 0;
  proposal.level = settings.level;
  proposal.hosts_min = settings.hosts_min;
  proposal.is_set = set != nullptr && *set != '\0' ? 1 : 0;
  if (proposal.is_set == 0) settings.level = HCOLL_PROBE;
  {
    const TreeBound bound(exchange);
    proposal.has_sharpd = sumac_tree_has_sharpd();
  }
  auto told = exchange.allgather(bytes_of(proposal));
  if (!told) return tl::unexpected(told.error());

  // All ranks look at all proposals before they decide anything by them, so all decide alike.
  bool all_have_sharpd = true, one_begins = false;
  std::string without, elsewhere;
  std::uint64_t job_of_first = 0;
  for (int rank = 0; rank < members.size(); ++rank) {
    const Bytes& bytes = (*told)[static_cast<std::size_t>(rank)];
    Proposal other;
    if (bytes.size() != sizeof other)
      return fail(Errc::invalid, "{} sent no proposal for the tree; {}", members.name(rank), exchange.other_job());
    std::memcpy(&other, bytes.data(), sizeof other);
    const char* differs = other.level != proposal.level || other.is_set != proposal.is_set ? "HCOLL_ENABLE_SHARP"
                          : other.hosts_min != proposal.hosts_min                          ? "HCOLL_SHARP_NP"
                                                                                           : nullptr;
    if (differs != nullptr)
      return fail(Errc::invalid, "{} differs between {} and {}: set it alike for all", differs,
                  members.name(members.rank), members.name(rank));
    if (rank == 0) job_of_first = other.job;
    if (other.job != job_of_first && elsewhere.empty())
      elsewhere = fmt::format(
          "{} is not in the same job of the tree as {}: a process has one job at a time, from its first process "
          "group or team to its last",
          members.name(rank), members.name(0));
    one_begins = one_begins || other.is_beginning != 0;
    if (other.has_sharpd == 0 && without.empty()) without = members.name(rank);
    all_have_sharpd = all_have_sharpd && other.has_sharpd != 0;
  }
  if (const char* refusal = sumac_job_refusal(&settings, members.hosts)) return Found{nullptr, refusal};
  const auto none = [&](std::string why) -> Result<Found> {
    if (settings.level >= HCOLL_FORCE)
      return fail(Errc::invalid, "HCOLL_ENABLE_SHARP={} must have the tree, and there is none: {}", settings.level,
                  why);
    if (proposal.is_set != 0)
      sumac_say_once(("no tree, messages between hosts instead: " + why).c_str(), members.rank == 0);
    return Found{nullptr, std::move(why)};
  };
  if (!elsewhere.empty()) return none(elsewhere);
  if (proposal.job != 0) return Found{standing};
  if (one_begins) return none("another team is beginning a job at the same time");
  if (!all_have_sharpd && proposal.is_set == 0)
    return none(fmt::format("no sharpd answers at {}; HCOLL_ENABLE_SHARP=1 starts what is missing", without));

  std::shared_ptr<Job> made(new Job(settings));
  if (!all_have_sharpd) {
    auto daemons = LocalJob::start(exchange, members);
    if (!daemons) return tl::unexpected(daemons.error());
    if (!daemons->why_not().empty()) return none(daemons->why_not());
    made->daemons_ = *std::move(daemons);
  }
  auto why = made->begin(exchange, members, options);
  if (!why) return tl::unexpected(why.error());
  if (!why->empty()) return none(*why);
  const std::lock_guard guard(own().lock);
  own().job = made;
  return Found{std::move(made)};
}

}  // namespace sumac::rank
