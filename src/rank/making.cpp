#include "rank/making.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread.hpp"
#include "client/handle_tables.hpp"
#include "client/tree/offer.hpp"
#include "coll/across.hpp"
#include "rank/across.h"
#include "rank/error_codes.hpp"
#include "rank/forms.h"
#include "rank/job.h"
#include "rank/join.hpp"
#include "rank/say.h"
#include "sharp/api/sumac_ext.h"

using sumac::client::Offer;

/// `lock` guards `record` and all that follows it, but the thread and what that alone uses until it ends.
struct sumac_making {
  /// The words of a rank to all others.
  struct Greeting {
    std::uint64_t signature;
    Offer offer;
  };
  enum class Stage : std::uint8_t {
    greeting,  ///< The MPI's allgather is under way.
    joining,   ///< The thread is in the tree.
    counting,  ///< All members have joined, and this rank's count is stopped.
    known,     ///< The first number of the team is known, and every rank will go there.
    failed,    ///< No rank has a team by this.
    broken     ///< The tree broke while the number was on its way: other ranks may have it.
  };

  sumac_record* record;  ///< Null once the communicator is gone.
  const sumac_runtime* runtime;
  std::uint32_t rank;
  Greeting mine{};
  std::vector<Greeting> all;
  std::vector<char> request;  ///< The MPI's.

  std::mutex lock;
  bool is_stepping = false;  ///< A call looks at the greeting.
  std::condition_variable changed;
  Stage stage = Stage::greeting;
  std::uint64_t count = 0;  ///< The collectives that the MPI has done meanwhile.
  std::uint64_t first = 0;  ///< The team's first one.
  bool is_passing = false;  ///< A call is between this and the MPI.
  bool ends = false;        ///< MPI_Finalize waits for the thread.
  std::thread thread;
  std::string why;  ///< It failed.
  bool is_explained = false;

  sharp_coll_comm* group = nullptr;
  sumac_tree_t* tree = nullptr;
  std::int64_t agreed[SUMAC_AGREED] = {};
};

namespace {

using Making = sumac_making;
using Greeting = Making::Greeting;
using Stage = Making::Stage;
using Shared = std::shared_ptr<Making>;
using Lock = std::unique_lock<std::mutex>;

static_assert(sizeof(Offer) <= SUMAC_TREE_OFFER_BYTES);
constexpr bool is_over(Stage stage) { return stage >= Stage::known; }

/// A rank that waits in a blocking collective drives the MPI so often.
constexpr std::chrono::milliseconds kDriveEvery{1};

/// Never destroyed: a program may end without MPI_Finalize, with threads still there. Its lock is taken before a making's.
struct List {
  std::mutex lock;
  std::vector<Shared> all;
};
List& list = *new List;

using Progress = sumac::coll::Across::Progress;

/// This thread's waits for the tree do not drive the MPI meanwhile.
struct NoDrives {
  NoDrives() { sumac_job_drives(false); }
  ~NoDrives() { sumac_job_drives(true); }
  NoDrives(const NoDrives&) = delete;
  NoDrives& operator=(const NoDrives&) = delete;
};

void end_as(Making& making, Stage stage, std::string why) {
  const std::lock_guard guard(making.lock);
  making.stage = stage;
  making.why = std::move(why);
  making.changed.notify_all();
}

// ---- the thread ----

int may_wait(void* context) {
  auto& making = *static_cast<Making*>(context);
  const std::lock_guard guard(making.lock);
  return making.ends ? 0 : 1;
}

/// Returns why this rank could not join; empty: all members have.
std::string join(Making& making) {
  sumac_tree_bound(may_wait, &making);
  std::vector<Offer> offers;
  for (const Greeting& each : making.all) offers.push_back(each.offer);
  auto* context = sumac::client::context_of(sumac_job_context());
  if (context == nullptr) return "the job has ended";
  auto comm = sumac::client::join_by(*context, making.rank, offers);
  if (!comm) return comm.error().text;
  making.group = sumac::client::give_handle(*std::move(comm));
  if (making.group == nullptr) return "too many groups";
  making.tree = sumac_tree_open(making.group);
  if (making.tree == nullptr) return "there is no memory";
  making.agreed[0] = 0;
  sumac_group_limits(making.runtime->settings, making.group, making.agreed + 1);
  return "";
}

/// Stops the count.
std::uint64_t stop_count(Making& making) {
  Lock guard(making.lock);
  making.changed.wait(guard, [&] { return !making.is_passing; });
  making.stage = Stage::counting;
  return making.count;
}

std::int64_t digest(const std::int64_t* numbers) {
  std::uint64_t sum = 14695981039346656037u;  // FNV-1a.
  for (int i = 0; i < SUMAC_AGREED; ++i) sum = (sum ^ static_cast<std::uint64_t>(numbers[i])) * 1099511628211u;
  return static_cast<std::int64_t>(sum >> 2);  // Its negative is a number too.
}

/// Replaces each number by the largest of any rank.
bool find_largest(Making& making, std::int64_t* numbers, std::size_t count) {
  sumac_fold_t fold;
  if (sumac_fold_standard(&fold, SHARP_DTYPE_LONG, SHARP_OP_MAX, SHARP_DTYPE_NULL) != SUMAC_TEAM_OK) return false;
  sumac::coll::Operation operation{};
  operation.kind = sumac::coll::Kind::allreduce;
  operation.in = operation.out = numbers;
  operation.bytes = count * sizeof *numbers;
  operation.fold = reinterpret_cast<const sumac::coll::Fold*>(&fold);
  auto& across = *reinterpret_cast<sumac::coll::Across*>(making.tree);
  void* request = nullptr;
  auto now = across.start(operation, request);
  for (; now == Progress::pending; now = across.test(request)) {
    constexpr int kLookUs = 1000;
    (void)across.sleep(kLookUs);
    if (may_wait(&making) != 0) continue;
    across.let_go(request);
    return false;
  }
  return now == Progress::done;
}

void work(Making& making) {
  const NoDrives apart;
  if (std::string why = join(making); !why.empty()) return end_as(making, Stage::failed, std::move(why));
  const std::int64_t own = digest(making.agreed);
  std::int64_t numbers[] = {static_cast<std::int64_t>(stop_count(making)), own, -own};
  if (!find_largest(making, numbers, std::size(numbers)))
    return end_as(making, Stage::broken, "the tree broke while its ranks counted");
  if (numbers[1] != own || numbers[2] != -own)
    return end_as(making, Stage::failed, "the members of its group have different limits");
  const std::lock_guard guard(making.lock);
  making.first = static_cast<std::uint64_t>(numbers[0]);
  making.stage = Stage::known;
  making.changed.notify_all();
}

// ---- the greeting ----

void start_thread(Making& making) {
  {
    const std::lock_guard guard(making.lock);
    making.stage = Stage::joining;
  }
  try {
    making.thread = sumac::start_thread([&making] { work(making); });
  } catch (const std::system_error& error) {
    end_as(making, Stage::failed, error.code().message());
  }
}

/// All ranks see the same greetings, and decide alike.
void compare(Making& making) {
  std::vector<Offer> offers;
  bool is_alike = true;
  for (const Greeting& each : making.all) {
    offers.push_back(each.offer);
    is_alike = is_alike && each.signature == making.all.front().signature;
  }
  if (is_alike && sumac::client::suffice(offers)) return start_thread(making);
  if (offers.front().groups > 0) sumac_join_drop_offer();
  end_as(making, Stage::failed, is_alike ? "the tree has no group for it" : "its ranks have different variables");
}

Stage stage_of(Making& making) {
  const std::lock_guard guard(making.lock);
  return making.stage;
}

/// Returns true to the one call that may look at the greeting: with several threads another one may be there.
bool enter(Making& making) {
  const std::lock_guard guard(making.lock);
  return making.stage == Stage::greeting && !std::exchange(making.is_stepping, true);
}

enum class Drives : bool { no, yes };

/// Looks whether the greeting has ended. This may end the communicator too, whose last user it was.
void look(Making& making, Drives drives) {
  if (!enter(making)) return;
  const sumac_runtime& runtime = *making.runtime;
  bool done = false;
  const int rc = runtime.gathered(making.request.data(), drives == Drives::yes, &done);
  Lock guard(making.lock);
  making.is_stepping = false;
  if (rc == 0 && !done) return;
  sumac_record* const record = making.record;
  const bool ends = making.ends;
  guard.unlock();
  if (rc != 0 || ends)
    end_as(making, Stage::failed, "the MPI's allgather failed");
  else
    compare(making);
  if (runtime.release != nullptr && record != nullptr) runtime.release(record);
}

/// The MPI of this rank carries messages of the others' greetings on.
void wait_for_greeting(Making& making) {
  while (stage_of(making) == Stage::greeting) {
    look(making, Drives::yes);
    making.runtime->drive(nullptr);
    ::sched_yield();
  }
}

// ---- their list ----

void end_group(Making& making) {
  if (making.thread.joinable()) making.thread.join();
  sumac_joined joined{.group = std::exchange(making.group, nullptr),
                      .tree = std::exchange(making.tree, nullptr),
                      .no_tree = nullptr,
                      .no_group = false};
  sumac_tree_leave(&joined);
}

/// Returns null where MPI_Finalize has it already.
Shared unlist(const Making& making) {
  const std::lock_guard guard(list.lock);
  const auto found = std::ranges::find(list.all, &making, &Shared::get);
  if (found == list.all.end()) return nullptr;
  Shared taken = *found;
  list.all.erase(found);
  return taken;
}

}  // namespace

void sumac_makings_look() {
  std::vector<Shared> others, over;
  {
    const std::lock_guard guard(list.lock);
    const auto is_left = [](const Shared& each) {
      const std::lock_guard its(each->lock);
      return each->record != nullptr || !is_over(each->stage);
    };
    const auto rest = std::partition(list.all.begin(), list.all.end(), is_left);
    over.assign(rest, list.all.end());
    list.all.erase(rest, list.all.end());
    others = list.all;
  }
  for (const Shared& each : over) end_group(*each);
  for (const Shared& each : others) look(*each, Drives::no);
}

namespace {

// ---- of one communicator ----

void begin(sumac_record& record) {
  sumac_makings_look();
  (void)sumac_coll_enable_threads(sumac_job_context());
  const sumac_runtime& runtime = *record.runtime;
  const auto size = static_cast<std::size_t>(record.size);
  const auto made = std::make_shared<Making>();
  made->record = &record;
  made->runtime = &runtime;
  made->rank = static_cast<std::uint32_t>(record.rank);
  made->all.resize(size);
  made->request.resize(runtime.between->request_bytes);
  made->mine.signature = sumac_team_options_signature(*runtime.options);
  char offer[SUMAC_TREE_OFFER_BYTES];
  {
    const NoDrives while_it_waits;  // For a node alone, which needs no MPI.
    sumac_join_offer(runtime.settings, record.hosts, record.size, record.rank, offer);
  }
  std::memcpy(&made->mine.offer, offer, sizeof made->mine.offer);
  record.life = SUMAC_LIFE_MAKING;
  record.making = made.get();
  {
    const std::lock_guard guard(list.lock);
    list.all.push_back(made);
  }
  const int rc = runtime.iallgather(&record, &made->mine, made->all.data(), sizeof made->mine, made->request.data());
  if (rc != 0) end_as(*made, Stage::failed, "the MPI could not start an allgather");
}

/// Makes the team of the group that all have joined. It waits for nobody.
int make_team(sumac_record& record) {
  Making& making = *record.making;
  if (making.thread.joinable()) making.thread.join();
  const int rc = record.runtime->attach(&record);
  record.making = nullptr;
  end_group(*unlist(making));  // The team has taken it.
  if (record.life == SUMAC_LIFE_TEAM) record.life = SUMAC_LIFE_UNSETTLED;
  return rc != 0 || record.life == SUMAC_LIFE_UNSETTLED ? rc : record.runtime->error_other;
}

int broken(const sumac_record& record, const std::string& why) {
  char name[SUMAC_NAME_BYTES];
  record.runtime->name(&record, name);
  SUMAC_SAY("no team for communicator %s: %s", name, why.c_str());
  return sumac_error_code(record.runtime, why.c_str());
}

/// The state in which a rank comes to the first blocking collective.
enum class Came : std::uint8_t { without, with_team, broken };

Came wait_for_end(sumac_record& record, int& rc) {
  if (record.making == nullptr) return Came::with_team;
  Making& making = *record.making;
  wait_for_greeting(making);
  while (!is_over(stage_of(making))) {
    making.runtime->drive(nullptr);
    Lock guard(making.lock);
    (void)making.changed.wait_for(guard, kDriveEvery, [&] { return is_over(making.stage); });
  }
  switch (stage_of(making)) {
    case Stage::known: rc = make_team(record); return rc == 0 ? Came::with_team : Came::broken;
    case Stage::failed: return Came::without;
    default: rc = broken(record, making.why); return Came::broken;
  }
}

}  // namespace

int sumac_making_post(sumac_record* record) {
  if (record->life == SUMAC_LIFE_FRESH) begin(*record);
  Making& making = *record->making;
  look(making, Drives::no);
  Lock guard(making.lock);
  making.changed.wait(guard, [&] { return making.stage != Stage::counting; });
  if (making.stage == Stage::known && making.count == making.first) {
    guard.unlock();
    return make_team(*record);
  }
  if (making.stage == Stage::broken) {
    guard.unlock();
    return broken(*record, making.why);
  }
  making.is_passing = true;
  if (making.stage == Stage::failed && !std::exchange(making.is_explained, true))
    sumac_record_explain_none(record, making.why.c_str());
  return SUMAC_TO_NEXT;
}

void sumac_making_passed(sumac_record* record, int rc) {
  Making& making = *record->making;
  const std::lock_guard guard(making.lock);
  if (!std::exchange(making.is_passing, false)) return;
  if (rc == 0) ++making.count;
  making.changed.notify_all();
}

int sumac_making_settle(sumac_record* record) {
  int rc = 0;
  const Came mine = wait_for_end(*record, rc);
  std::vector<Came> all(static_cast<std::size_t>(record->size));
  const bool is_heard = record->runtime->oob.allgather(record, &mine, all.data(), sizeof mine) == 0;
  if (Making* making = std::exchange(record->making, nullptr); making != nullptr) end_group(*unlist(*making));
  record->life = mine == Came::with_team ? SUMAC_LIFE_TEAM : SUMAC_LIFE_PASS;
  if (mine != Came::without) return rc;
  if (!is_heard) return record->runtime->error_other;
  if (std::ranges::any_of(all, [](Came each) { return each != Came::without; }))
    return broken(*record, "the tree broke while its ranks counted");
  record->life = SUMAC_LIFE_FRESH;
  return 0;
}

bool sumac_makings_exist() {
  const std::lock_guard guard(list.lock);
  return !list.all.empty();
}

void sumac_making_ripen(sumac_record* record) {
  if (record->making != nullptr) wait_for_greeting(*record->making);
}

void sumac_making_leave(sumac_record* record) {
  if (record->making == nullptr) return;
  Making& making = *std::exchange(record->making, nullptr);
  {
    const std::lock_guard guard(making.lock);
    making.record = nullptr;
    if (!is_over(making.stage)) return;
  }
  if (const Shared taken = unlist(making); taken != nullptr) end_group(*taken);
}

void sumac_makings_end() {
  std::vector<Shared> all;
  {
    const std::lock_guard guard(list.lock);
    all.swap(list.all);
  }
  for (const Shared& each : all) {
    const std::lock_guard guard(each->lock);
    each->ends = true;
  }
  for (const Shared& each : all) {
    wait_for_greeting(*each);
    if (each->thread.joinable()) each->thread.join();
    if (each->stage != Stage::known && each->group != nullptr) {
      sumac_tree_close(std::exchange(each->tree, nullptr));
      sumac_tree_give_up(std::exchange(each->group, nullptr));
    }
    end_group(*each);
    if (each->record == nullptr) continue;
    each->record->making = nullptr;
    each->record->life = SUMAC_LIFE_PASS;
  }
}

void sumac_making_set(sumac_team_spec_t* spec, sumac_record* record) {
  spec->offer_across = nullptr;
  spec->offer_bytes = 0;
  spec->drop_offer = nullptr;
  // A rank's words to the ranks of its own host concern itself alone, and all ranks say the same of the tree.
  spec->oob = {.context = record, .allgather = [](void* context, const void* in, void* out, std::size_t bytes) {
                 const auto size = static_cast<std::size_t>(static_cast<sumac_record*>(context)->size);
                 for (std::size_t i = 0; i < size; ++i) std::memcpy(static_cast<char*>(out) + i * bytes, in, bytes);
                 return 0;
               }};
}

void sumac_making_take(sumac_record* record, sumac_joined* joined, std::int64_t* agreed) {
  Making& making = *record->making;
  *joined = {.group = std::exchange(making.group, nullptr),
             .tree = std::exchange(making.tree, nullptr),
             .no_tree = nullptr,
             .no_group = false};
  std::copy(std::begin(making.agreed), std::end(making.agreed), agreed);
}

bool sumac_making_serves(const sumac_record* record) {
  const hcoll_settings* settings = record->runtime->settings;
  return record->hosts == record->size && record->hosts > 1 && settings->own_network == 0 &&
         sumac_job_serves(settings, record->hosts) && !sumac_across_needs_communicators(record);
}
