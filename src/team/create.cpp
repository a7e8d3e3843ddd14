// Makes a team. All exchange with other ranks is here: two allgathers (each rank's greeting, then whether it could
// attach, and connect with other hosts). What connects leaders between hosts lets its own words travel with both, because
// there each exchange takes as long as many calls. Every decision depends only on the results of the allgathers, so all
// ranks decide alike.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/c_text.hpp"
#include "shm/single/cma.hpp"
#include "team/c_types.hpp"
#include "team/team.hpp"
#include "team/tuning.hpp"

namespace sumac::team {
namespace {

constexpr const char* kOrMemfd = " or SUMAC_SHM_BACKING=memfd";
constexpr std::size_t kMaskWords = 16;  ///< 1024 processors; those beyond are counted modulo.

/// The record that a rank sends to all others. It is zeroed before it is filled, because padding travels too.
struct Greeting {
  std::uint64_t signature;
  std::uint64_t tuning;
  std::uint64_t id;    ///< Rank 0's names the communicator in the pages of src/recorder.
  std::int32_t error;  ///< The Errc of making the segment.
  std::int32_t host_ranks;
  double quota_cpus;
  std::uint64_t quota_group;
  std::uint64_t mask[kMaskWords];
  shm::Handle handle;
  char words[96];
};
static_assert(std::is_trivially_copyable_v<Greeting>);

struct Vote {
  std::int32_t error;
  std::int32_t is_across;  ///< It could not connect; another segment would be of no use.
  std::int64_t agreed[SUMAC_AGREED];
  char words[128];
};

static_assert(std::is_trivially_copyable_v<Vote>);

void put_share(const machine::CpuShare& share, Greeting& greeting) {
  for (std::size_t w = 0; w < share.allowed.words.size(); ++w) greeting.mask[w % kMaskWords] |= share.allowed.words[w];
  greeting.quota_cpus = share.quota_cpus;
  greeting.quota_group = share.quota_group;
}

machine::CpuShare share_of(const Greeting& greeting) {
  machine::CpuShare share;
  std::copy(std::begin(greeting.mask), std::end(greeting.mask), share.allowed.words.begin());
  share.quota_cpus = greeting.quota_cpus;
  share.quota_group = greeting.quota_group;
  return share;
}

class Maker {
 public:
  Maker(const sumac_team_spec_t& spec, std::string& why)
      : spec_(spec),
        handle_(*as_handle(spec.options)),
        why_(why),
        team_(std::make_unique<sumac_team>(spec.threads != 0)) {}

  int make();
  std::unique_ptr<sumac_team> take() { return std::move(team_); }

 private:
  int pass(std::string why) {
    why_ = std::move(why);
    return SUMAC_TEAM_PASS;
  }
  /// Adds a line for users although the team exists.
  void add_line(std::string_view line) {
    if (!why_.empty()) why_ += '\n';
    why_ += line;
  }
  int lay_out();
  int share_memory();
  int try_backing(shm::Backing backing, std::string& complaint);
  int compare_greetings();
  Vote attach(bool creates, const shm::Shape& shape);
  int vote(Vote own, std::string& complaint);
  void tell_room();
  void weigh_memory();
  void weigh_processors();
  void make_groups();
  std::string decide_copy(shm::Group& group, const std::vector<int>& members, shm::TuningInput& input);
  void find_leaders();
  int greet(const Greeting& own);
  int open_across();
  int agree_across();
  void set_direct();
  bool may_be_compared(coll::Kind kind) const;

  const sumac_team_spec_t& spec_;
  const OptionsHandle& handle_;
  std::string& why_;
  std::unique_ptr<sumac_team> team_;
  std::vector<Greeting> greetings_;
  std::vector<int> leaders_;  ///< The ranks that open_across() is to connect; empty if it is not called.
  std::vector<std::byte> own_offer_, offers_;
  std::int64_t agreed_[SUMAC_AGREED] = {};  ///< This rank's numbers, then the least of all ranks.
  sumac_across_t across_{};
  bool has_segment_ = false;  ///< This host has a group at all.
};

int Maker::make() {
  team_->name = spec_.name != nullptr ? spec_.name : "";
  team_->options = &handle_;
  team_->user_progress = spec_.progress;
  team_->user_context = spec_.progress_context;
  if (spec_.size < 2) return pass("a communicator of one rank has nobody to talk to");
  if (const int rc = lay_out(); rc != SUMAC_TEAM_OK) return rc;
  if (spec_.calls != nullptr) team_->calls.emplace(spec_.calls, team_->layout);
  find_leaders();
  if (const int rc = share_memory(); rc != SUMAC_TEAM_OK) {
    if (!own_offer_.empty() && !team_->functions && spec_.drop_offer != nullptr) spec_.drop_offer(spec_.open_context);
    return rc;
  }
  if (const int rc = agree_across(); rc != SUMAC_TEAM_OK) return rc;
  make_groups();
  set_direct();
  team_->recorded = recorder::Track(team_->name, greetings_.front().id, spec_.rank, spec_.size);
  team_->track = team_->recorded.memory();
  return SUMAC_TEAM_OK;
}

int Maker::lay_out() {
  const auto places = places_of({spec_.places, static_cast<std::size_t>(spec_.size)});
  auto layout = team::lay_out(places, handle_.levels, spec_.rank, spec_.ranks_apart != 0);
  if (!layout) return pass(layout.error().context);
  team_->layout = std::move(*layout);
  Shape& shape = team_->shape;
  shape.islands = static_cast<int>(team_->layout.islands.size());
  for (const auto& island : team_->layout.islands)
    shape.island_size_max = std::max(shape.island_size_max, static_cast<int>(island.size()));
  shape.has_steps = team_->layout.has_steps;
  shape.is_canonical = team_->layout.is_canonical;
  shape.is_contiguous = team_->layout.is_contiguous;
  shape.has_next = spec_.has_no_next == 0;
  shape.exchange_max = exchange_limit(handle_.options.alltoall_max.count, shape.island_size_max, team_->layout.size);
  has_segment_ = !team_->layout.groups.empty();
  return SUMAC_TEAM_OK;
}

int Maker::share_memory() {
  const Backing wanted = handle_.options.backing;
  std::string complaint;
  // memfd comes first, because it needs no room in /dev/shm and leaves nothing behind; all hosts try the next one
  // together.
  const bool tries_both = wanted == Backing::automatic;
  int rc = try_backing(wanted == Backing::devshm ? shm::Backing::devshm : shm::Backing::memfd, complaint);
  std::string refused;
  if (rc == SUMAC_TEAM_PASS && tries_both && !complaint.empty()) {
    refused = std::move(complaint);
    rc = try_backing(shm::Backing::devshm, complaint);
    if (rc == SUMAC_TEAM_PASS && complaint == refused) refused.clear();
  }
  if (rc == SUMAC_TEAM_PASS && !complaint.empty())
    why_ = fmt::format("no shared memory: {}{}{}; this communicator goes on without", refused,
                       refused.empty() ? "" : "; then ", complaint);
  if (rc == SUMAC_TEAM_OK && !refused.empty())
    team_->remarks.push_back(fmt::format("memfd refused: {}; a file in /dev/shm instead", refused));
  if (rc == SUMAC_TEAM_OK) tell_room();
  if (rc == SUMAC_TEAM_OK) weigh_memory();
  if (team_->segment && rc != SUMAC_TEAM_OK) team_->segment.reset();
  return rc;
}

/// Makes one attempt: returns PASS with a complaint if some host could not, and PASS with why_ if the ranks do not fit
/// together at all.
int Maker::try_backing(shm::Backing backing, std::string& complaint) {
  complaint.clear();
  team_->segment.reset();
  const Layout& layout = team_->layout;
  shm::Shape shape;
  shape.members = static_cast<int>(layout.host_members.size());
  for (const auto& group : layout.groups) shape.group_sizes.push_back(static_cast<int>(group.members.size()));
  shape.group_sizes.push_back(1);  // This group of one holds the board.
  const bool creates = has_segment_ && layout.host_members.front() == layout.rank;

  Greeting own;
  std::memset(static_cast<void*>(&own), 0, sizeof own);
  own.handle = shm::Handle{};
  own.signature = handle_.digests.options;
  own.tuning = handle_.digests.tuning;
  if (spec_.rank == 0) own.id = recorder::draw_id();
  own.host_ranks = spec_.host_ranks;
  put_share(handle_.share, own);
  if (creates) {
    auto made = shape.members > shm::kMembersMax
                    ? tl::unexpected(
                          Error{Errc::unsupported, fmt::format("{} ranks on a host, at most {} can share one segment",
                                                               shape.members, shm::kMembersMax)})
                    : shm::Segment::create(shape, backing);
    if (made) {
      own.handle = made->handle();
      team_->segment = std::make_unique<shm::Segment>(std::move(*made));
    } else {
      own.error = static_cast<std::int32_t>(made.error().code);
      const bool could_be_memfd = handle_.options.backing == Backing::devshm && made.error().code == Errc::exhausted;
      copy_text(made.error().context + (could_be_memfd ? kOrMemfd : ""), own.words, sizeof own.words);
    }
  }
  if (const int rc = greet(own); rc != SUMAC_TEAM_OK) return rc;
  if (const int rc = compare_greetings(); rc != SUMAC_TEAM_OK) return rc;
  for (int r = 0; r < spec_.size; ++r) {
    const Greeting& greeting = greetings_[static_cast<std::size_t>(r)];
    if (greeting.error == 0) continue;
    complaint = fmt::format("rank {}: {}", r, greeting.words);
    return SUMAC_TEAM_PASS;
  }

  Vote own_vote = attach(creates, shape);
  if (open_across() != 0) {
    own_vote.error = static_cast<std::int32_t>(Errc::refused);
    own_vote.is_across = 1;
    copy_text("could not connect the leaders of the hosts", own_vote.words, sizeof own_vote.words);
  }
  std::copy(std::begin(agreed_), std::end(agreed_), std::begin(own_vote.agreed));
  // Before the vote, because no rank uses the segment until all have voted.
  if (team_->segment && layout.has_domains())
    for (const Part& part : layout.parts())
      for (const int group : {part.group, part.down})
        shm::touch_own_lines(*team_->segment, static_cast<std::size_t>(group), part.index);
  const int rc = vote(own_vote, complaint);
  if (rc == SUMAC_TEAM_OK && team_->segment) team_->segment->all_attached();
  return rc;
}

/// The first exchange: the greetings, and behind each what the rank has to say to the others of its way between hosts.
int Maker::greet(const Greeting& own) {
  const std::size_t offer_bytes = leaders_.empty() ? 0 : spec_.offer_bytes, each = sizeof own + offer_bytes;
  const auto ranks = static_cast<std::size_t>(spec_.size);
  std::vector<std::byte> mine(each), all(each * ranks);
  std::memcpy(mine.data(), &own, sizeof own);
  // A second attempt makes the same offer.
  if (own_offer_.size() < offer_bytes) {
    own_offer_.resize(offer_bytes);
    spec_.offer_across(spec_.open_context, leaders_.data(), static_cast<int>(leaders_.size()),
                       team_->layout.leads() ? team_->layout.island() : -1, own_offer_.data());
  }
  std::copy(own_offer_.begin(), own_offer_.end(), mine.begin() + sizeof own);
  if (spec_.oob.allgather(spec_.oob.context, mine.data(), all.data(), each) != 0) return SUMAC_TEAM_OOB;
  greetings_.resize(ranks);
  offers_.resize(ranks * offer_bytes);
  for (std::size_t r = 0; r < ranks; ++r) {
    std::memcpy(static_cast<void*>(&greetings_[r]), all.data() + r * each, sizeof own);
    if (offer_bytes > 0) std::memcpy(offers_.data() + r * offer_bytes, all.data() + r * each + sizeof own, offer_bytes);
  }
  return SUMAC_TEAM_OK;
}

/// Returns this rank's vote on the segment.
Vote Maker::attach(bool creates, const shm::Shape& shape) {
  Vote own;
  std::memset(&own, 0, sizeof own);
  if (!has_segment_ || creates) return own;
  const Layout& layout = team_->layout;
  const Greeting& creator = greetings_[static_cast<std::size_t>(layout.host_members.front())];
  auto attached = shm::Segment::attach(creator.handle, shape, layout.local_index(layout.rank));
  if (attached) {
    team_->segment = std::make_unique<shm::Segment>(std::move(*attached));
  } else {
    own.error = static_cast<std::int32_t>(attached.error().code);
    copy_text(attached.error().context, own.words, sizeof own.words);
  }
  return own;
}

int Maker::compare_greetings() {
  const Greeting& first = greetings_.front();
  bool same_tuning = true;
  for (int r = 0; r < spec_.size; ++r) {
    const Greeting& greeting = greetings_[static_cast<std::size_t>(r)];
    if (greeting.signature != first.signature)
      return pass(fmt::format(
          "rank {} has other HCOLL_*, SUMAC_TEAM_*, SUMAC_SHM_* or SUMAC_REPRODUCIBLE variables than rank 0: {}", r,
          spec_.has_no_next != 0 ? "set them alike on all machines" : "give all ranks the same (mpirun -x)"));
    same_tuning = same_tuning && greeting.tuning == first.tuning;
  }
  team_->uses_tuning_file = same_tuning && first.tuning != 0;
  if (!same_tuning) team_->remarks.push_back("the hosts have different tuning files: the built-in choice is used");
  return SUMAC_TEAM_OK;
}

/// The second exchange. Returns OK if no rank has an error; else PASS and the first rank's text: in why_ where it is of no
/// use to try again. Also finds the least of each number on which the ranks agree.
int Maker::vote(Vote own, std::string& complaint) {
  std::vector<Vote> votes(static_cast<std::size_t>(spec_.size));
  if (spec_.oob.allgather(spec_.oob.context, &own, votes.data(), sizeof own) != 0) return SUMAC_TEAM_OOB;
  for (const Vote& one : votes)
    for (std::size_t i = 0; i < SUMAC_AGREED; ++i) agreed_[i] = std::min(agreed_[i], one.agreed[i]);
  // First what no second attempt mends: all ranks must make it, or none.
  for (const bool is_across : {true, false})
    for (int r = 0; r < spec_.size; ++r) {
      const Vote& one = votes[static_cast<std::size_t>(r)];
      if (one.error == 0 || (one.is_across != 0) != is_across) continue;
      (is_across ? why_ : complaint) = fmt::format("rank {}: {}", r, one.words);
      return SUMAC_TEAM_PASS;
    }
  return SUMAC_TEAM_OK;
}

/// Adds one line for the whole job, and numbers for explain, if a small /dev/shm gave some host less than was asked
/// for.
void Maker::tell_room() {
  constexpr std::size_t kKib = 1024;
  const std::size_t wanted = shm::Shape{}.large_bytes;
  bool is_small = false;
  for (int r = 0; r < spec_.size; ++r) {
    const shm::Handle& made = greetings_[static_cast<std::size_t>(r)].handle;
    if (made.bytes == 0 || made.large_bytes >= wanted) continue;
    is_small = true;
    team_->remarks.push_back(
        fmt::format("/dev/shm of the host of rank {} is small: areas of {} KiB instead of {} for large messages", r,
                    made.large_bytes / kKib, wanted / kKib));
  }
  if (is_small)
    add_line(fmt::format("/dev/shm is small, so large messages go in smaller pieces: enlarge it (docker --shm-size){}",
                         handle_.options.backing == Backing::devshm ? kOrMemfd : ""));
}

/// Finds the least memory of any host, which limits the size of an element everywhere.
void Maker::weigh_memory() {
  team_->large_bytes_least = shm::Shape{}.large_bytes;
  for (const Greeting& greeting : greetings_)
    if (greeting.handle.bytes != 0)
      team_->large_bytes_least = std::min<std::size_t>(team_->large_bytes_least, greeting.handle.large_bytes);
}

/// Computes how many ranks compete for how many processors, with the same result at every rank of the host.
void Maker::weigh_processors() {
  std::vector<machine::CpuShare> shares;
  int job_ranks = 0;
  for (const int r : team_->layout.host_members) {
    const Greeting& greeting = greetings_[static_cast<std::size_t>(r)];
    shares.push_back(share_of(greeting));
    job_ranks = std::max(job_ranks, greeting.host_ranks);
  }
  const double cpus = machine::together(shares);
  // The job's other ranks on this host are assumed to be spread evenly over its processors: 16 bound ranks on 16 cores
  // leave a team of two its two cores; 8 ranks that may run anywhere on two cores are 8 on 2 for a team of two as well.
  static const double online = std::max(1.0, static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN)));  // It reads a file.
  const double others = std::ceil(job_ranks * std::min(1.0, cpus / online) - 1e-9);
  team_->waiting.ranks_on_host =
      std::max(static_cast<int>(team_->layout.host_members.size()), static_cast<int>(others));
  team_->waiting.cpus = cpus;
  team_->waiting.caller_yields = spec_.yields != 0;
  team_->waiting.sleeps_long = spec_.has_no_next != 0;
  team_->waiting.spreads = handle_.options.spread;
  team_->shape.crowded = team_->waiting.crowded();
}

void Maker::make_groups() {
  weigh_processors();
  team_->waiting.context = team_.get();
  team_->waiting.progress = [](void* context) {
    auto& team = *static_cast<sumac_team*>(context);
    team.look_at_board();
    if (team.user_progress != nullptr) team.user_progress(team.user_context);
  };
  const Layout& layout = team_->layout;
  team_->groups.resize(layout.groups.size());
  if (!team_->segment) return;
  const auto at = shm::layout_of(team_->segment->shape(), layout.groups.size());
  team_->board = reinterpret_cast<Board*>(team_->segment->at(at.lines));
  const auto make_one = [&](const Part& part, int number) {
    const auto index = static_cast<std::size_t>(number);
    std::vector<shm::Member> members;
    for (const int r : layout.groups[index].members)
      members.push_back({layout.local_index(r), r, layout.domain_of[static_cast<std::size_t>(r)]});
    shm::TuningInput input{.size = static_cast<int>(members.size()),
                           .crowded = team_->shape.crowded,
                           .eager_bytes = team_->segment->shape().eager_bytes,
                           .large_bytes = team_->segment->shape().large_bytes};
    auto& group = team_->groups[index];
    group = std::make_unique<shm::Group>(*team_->segment, index, std::move(members), part.index, team_->waiting,
                                         shm::default_tuning(input));
    const std::string no_copy = decide_copy(*group, layout.groups[index].members, input);
    if (!team_->shape.crowded) group->stores.allow();
    group->set_tuning(tuning_for(input, *group, handle_, team_->uses_tuning_file, no_copy, team_->remarks));
    if (number == layout.island_part.group) {
      team_->island_input = input;
      team_->no_copy = no_copy;
    }
  };
  const auto make = [&](const Part& part) {
    make_one(part, part.group);
    if (part.down != part.group) make_one(part, part.down);
  };
  if (layout.island_part) {
    make(layout.island_part);
    team_->island_group = team_->groups[static_cast<std::size_t>(layout.island_part.group)].get();
  }
  for (const Part& part : layout.steps) make(part);
  std::sort(team_->remarks.begin(), team_->remarks.end());
  team_->remarks.erase(std::unique(team_->remarks.begin(), team_->remarks.end()), team_->remarks.end());
}

/// Decides about single copy and stores it in `input`; returns the reason why there is none, if it was asked for.
std::string Maker::decide_copy(shm::Group& group, const std::vector<int>& members, shm::TuningInput& input) {
  // A rank that dies meanwhile breaks the team, which reports that in its first collective.
  shm::CopyRefusal refusal;
  if (wants_single_copy(input, handle_, team_->uses_tuning_file) &&
      shm::agree_on_single_copy(group, handle_.options.single_copy, &refusal) != Errc::ok)
    team_->fail(group.broken(), group.error());
  input.single_copy = group.turning.single_copy;
  if (refusal.member < 0) return "";
  if (refusal.other < 0) return "SUMAC_SHM_SINGLE_COPY=0";
  const auto rank_of = [&](int member) { return members[static_cast<std::size_t>(member)]; };
  std::string words = fmt::format("rank {} may not read and write the memory of rank {}: {}", rank_of(refusal.member),
                                  rank_of(refusal.other), machine::why(refusal.why));
  team_->remarks.push_back("single copy refused: " + words);
  return words;
}

void Maker::find_leaders() {
  if (team_->layout.islands.size() < 2 || spec_.open_across == nullptr) return;
  for (const auto& island : team_->layout.islands) leaders_.push_back(island.front());
}

/// Opens the way between hosts, once. Returns 0, or what its function returned.
int Maker::open_across() {
  if (leaders_.empty() || team_->functions) return 0;
  const int rc =
      spec_.open_across(spec_.open_context, leaders_.data(), static_cast<int>(leaders_.size()),
                        team_->layout.leads() ? team_->layout.island() : -1, offers_.data(), agreed_, &across_);
  if (rc != 0) return rc;
  team_->functions = std::make_unique<OwnAcross>(across_);
  team_->own_across = across_.network != nullptr ? network_of(across_.network) : team_->functions.get();
  // A network does all, also what the caller's functions would do no better than the next module.
  team_->shape.has_next = team_->shape.has_next && across_.network == nullptr;
  return 0;
}

int Maker::agree_across() {
  if (leaders_.empty()) return SUMAC_TEAM_OK;
  if (spec_.agree_across != nullptr && spec_.agree_across(spec_.open_context, agreed_, &across_) != 0)
    return pass("the leaders of the hosts could not agree on a way");
  team_->tree = tree_of(across_.tree);
  if (across_.no_tree != nullptr) team_->no_tree = across_.no_tree;
  return SUMAC_TEAM_OK;
}

/// Finds the collectives that are one call on one group, for any size or from a size on, and those that are compared with
/// the next module's.
void Maker::set_direct() {
  std::fill(std::begin(team_->direct_from), std::end(team_->direct_from), SIZE_MAX);
  std::fill(std::begin(team_->compared_from), std::end(team_->compared_from), SIZE_MAX);
  if (team_->layout.islands.size() > 1) return;
  for (const auto& row : coll::kCollectives) {
    const std::size_t least = coll::has_size(row.kind) ? 1 : 0;  // The others have work to do even when bytes is 0.
    for (const std::size_t from : {least, kStepBytesMax + 1}) {
      const Choice choice = team_->choose(row.kind, from, from, nullptr);
      if (choice.way != Way::host || choice.by_steps) continue;
      team_->direct_from[index_of(row.kind)] = from;
      break;
    }
    if (may_be_compared(row.kind)) team_->compared_from[index_of(row.kind)] = Comparison::kLeastBytes;
  }
}

/// With more ranks than processors the times say more of the system's schedule than of the two ways. A user who names an
/// algorithm wants that one.
bool Maker::may_be_compared(coll::Kind kind) const {
  return spec_.has_no_next == 0 && handle_.options.steps_aside && Comparison::compares(kind) && !team_->shape.crowded &&
         !handle_.options.disabled[index_of(kind)] && handle_.options.forced[index_of(kind)] == "auto";
}

}  // namespace
}  // namespace sumac::team

int sumac_team_create(const sumac_team_spec_t* spec, sumac_team_t** team_p, char* why, size_t why_bytes) {
  if (spec->struct_bytes != sizeof *spec || spec->size < 1 || spec->rank < 0 || spec->rank >= spec->size ||
      spec->places == nullptr || spec->options == nullptr || spec->oob.allgather == nullptr ||
      (spec->offer_bytes > 0) != (spec->offer_across != nullptr))
    return SUMAC_TEAM_INVALID;
  std::string words;
  sumac::team::Maker maker(*spec, words);
  const int rc = maker.make();
  if (why != nullptr) sumac::copy_text(words, why, why_bytes);
  if (rc == SUMAC_TEAM_OK) *team_p = maker.take().release();
  return rc;
}
