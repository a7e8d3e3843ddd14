#include "bindings/pmpi/communicator.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

#include "bindings/pmpi/idups.hpp"
#include "bindings/pmpi/ops.hpp"
#include "bindings/pmpi/progress.hpp"
#include "bindings/pmpi/ranks.hpp"
#include "bindings/pmpi/requests.hpp"
#include "bindings/pmpi/types.hpp"
#include "rank/across.h"
#include "rank/job.h"
#include "rank/say.h"
#include "rank/worth.h"

namespace sumac::pmpi {

namespace detail {
std::array<std::atomic<Communicator*>, kCached> cache{};
}

namespace {

std::mutex unused_lock;
/// Never destroyed: a leak checker at the program's end finds the records here.
std::vector<Communicator*>& unused = *new std::vector<Communicator*>;
int key = MPI_KEYVAL_INVALID;

/// Returns the members' ranks in MPI_COMM_WORLD; MPI_UNDEFINED for one of another MPI_COMM_WORLD.
std::vector<int> world_ranks(MPI_Comm comm, int size) {
  std::vector<int> own(static_cast<std::size_t>(size)), world(own.size(), MPI_UNDEFINED);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<int>(i);
  MPI_Group group{};
  if (mpi.Comm_group(comm, &group) != MPI_SUCCESS) return world;
  (void)mpi.Group_translate_ranks(group, size, own.data(), library.group, world.data());
  (void)mpi.Group_free(&group);
  return world;
}

/// Returns the number of the hosts of these ranks of MPI_COMM_WORLD, and sets their places, unless `places` is null.
int hosts_of(const std::vector<int>& ranks, sumac_place_t* places) {
  std::vector<std::uint64_t> hosts;
  for (const int rank : ranks) {
    const sumac_place_t& place = library.places[static_cast<std::size_t>(rank)];
    if (places != nullptr) places[hosts.size()] = place;
    hosts.push_back(static_cast<std::uint64_t>(place.host));
  }
  return sumac_number_hosts(hosts.data(), static_cast<int>(hosts.size()), places);
}

void leave(Communicator& communicator, const char* why) {
  communicator.life = SUMAC_LIFE_PASS;
  sumac_record_explain_none(&communicator, why);
}

/// True for rank 0 of the group whose rank 0 comes first in MPI_COMM_WORLD. If the other group is of another job, each job
/// counts for itself.
bool counts_for_both_groups(MPI_Comm inter, int rank) {
  MPI_Group group{};
  if (rank != 0 || mpi.Comm_remote_group(inter, &group) != MPI_SUCCESS) return false;
  int theirs = MPI_UNDEFINED;
  const int zero = 0;
  (void)mpi.Group_translate_ranks(group, 1, &zero, library.group, &theirs);
  (void)mpi.Group_free(&group);
  return theirs == MPI_UNDEFINED || library.rank < theirs;
}

/// Decides without a message whether the communicator may have a team. All members decide alike.
void look_at(Communicator& communicator) {
  const MPI_Comm comm = communicator.handle.load();
  (void)mpi.Comm_rank(comm, &communicator.rank);
  (void)mpi.Comm_size(comm, &communicator.size);
  int is_inter = 0;
  (void)mpi.Comm_test_inter(comm, &is_inter);
  if (is_inter != 0) {
    communicator.is_counted = counts_for_both_groups(comm, communicator.rank);
    return leave(communicator, "it is an intercommunicator");
  }
  if (communicator.size < 2) {
    communicator.life = SUMAC_LIFE_PASS;  // Each process has MPI_COMM_SELF: nothing is said of such ones.
    return;
  }
  communicator.is_counted = communicator.rank == 0;
  const auto ranks = world_ranks(comm, communicator.size);
  if (std::find(ranks.begin(), ranks.end(), MPI_UNDEFINED) != ranks.end())
    return leave(communicator, "it has processes of another MPI_COMM_WORLD");
  if (library.hosts > 1) communicator.hosts = hosts_of(ranks, nullptr);
  communicator.spared = sumac_calls_before_team(&library.process.settings, communicator.hosts, comm == MPI_COMM_WORLD);
}

void reset(Communicator& communicator) {
  static_cast<sumac_record&>(communicator) = {.runtime = &runtime, .rank = -1, .hosts = 1};
  communicator.handle.store(MPI_Comm{});
  communicator.own_name.clear();
  communicator.users = 0;
  communicator.ours = MPI_COMM_NULL;
}

/// Called by MPI_Comm_free and MPI_Comm_disconnect.
int on_deleted(MPI_Comm comm, int, void* value, void*) {
  auto& communicator = *static_cast<Communicator*>(value);
  if (!library.on) return MPI_SUCCESS;  // drop_communicators() has destroyed it.
  communicator.own_name = name_of(comm);
  forget(comm, communicator);
  return MPI_SUCCESS;
}

/// A duplicate makes a record of its own.
int not_copied(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

Communicator* take_record() {
  const std::lock_guard guard(unused_lock);
  if (unused.empty()) return new (std::nothrow) Communicator;
  Communicator* record = unused.back();
  unused.pop_back();
  return record;
}

/// Ends what hangs at a record, and keeps the record for another communicator.
void give_record(Communicator& communicator) {
  sumac_record_delist(&communicator);
  sumac_record_end(&communicator);
  reset(communicator);
  const std::lock_guard guard(unused_lock);
  unused.push_back(&communicator);
}

/// @param is_freed  The MPI frees it, and would not call on_deleted() for another attribute.
Communicator* make(MPI_Comm comm, bool is_freed) {
  Communicator* made = take_record();
  if (made == nullptr) return nullptr;
  reset(*made);
  made->users = 1;
  made->handle.store(comm);
  look_at(*made);
  sumac_record_enlist(made);
  if (is_freed) {
    made->own_name = name_of(comm);
    return made;
  }
  if (mpi.Comm_set_attr(comm, key, made) == MPI_SUCCESS) return made;
  give_record(*made);
  return nullptr;
}

// ---- the collective that makes the team ----

MPI_Comm handle_of(void* record) {
  return static_cast<Communicator*>(static_cast<sumac_record*>(record))->handle.load();
}

int oob_allgather(void* context, const void* in, void* out, std::size_t bytes) {
  const int count = static_cast<int>(bytes);
  return mpi.Allgather(in, count, MPI_BYTE, out, count, MPI_BYTE, handle_of(context));
}

int iallgather(sumac_record* record, const void* in, void* out, std::size_t bytes, void* request) {
  const int count = static_cast<int>(bytes);
  return mpi.Iallgather(in, count, MPI_BYTE, out, count, MPI_BYTE, handle_of(record),
                        static_cast<MPI_Request*>(request));
}

int gathered(void* request, bool drives, bool* done) {
  if (!drives && idups_noted()) return MPI_SUCCESS;
  int is_done = 0;
  const int rc = mpi.Test(static_cast<MPI_Request*>(request), &is_done, MPI_STATUS_IGNORE);
  *done = is_done != 0;
  return rc;
}

int places_of(sumac_record* record, sumac_place_t* places) {
  (void)hosts_of(world_ranks(handle_of(record), record->size), places);
  return MPI_SUCCESS;
}

/// A communicator of the leaders can't be made while an MPI_Comm_idup is under way at some rank: the MPI makes
/// communicators one after the other, and that one ends only when all its ranks have called it.
bool idup_under_way(const Communicator& communicator, int& rc) {
  int mine = idups_under_way() ? 1 : 0, any = 0;
  rc = mpi.Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, communicator.handle.load());
  return any != 0;
}

/// Collective. Returns an MPI error code.
int attach(sumac_record* record) {
  auto& communicator = static_cast<Communicator&>(*record);
  if ((communicator.hosts > 1 || sumac_job_serves(&library.process.settings, 1)) &&
      sumac_across_needs_communicators(&communicator)) {
    int rc = MPI_SUCCESS;
    if (idup_under_way(communicator, rc) || rc != MPI_SUCCESS) return rc;  // The next blocking collective tries again.
  }
  return sumac_record_attach(&communicator);
}

int common_bits(sumac_record* record, std::uint32_t mine, std::uint32_t* all) {
  return mpi.Allreduce(&mine, all, 1, MPI_UINT32_T, MPI_BAND, handle_of(record));
}

// Notes go by our own communicator of all ranks, so that they never meet the program's messages.

constexpr int kTagNote = 2;

bool send_note(sumac_record* record, int rank, const sumac_note* note) {
  const MPI_Comm comm = static_cast<Communicator*>(record)->ours;
  MPI_Request request{};
  return comm != MPI_COMM_NULL &&
         mpi.Isend(note, sizeof *note, MPI_BYTE, rank, kTagNote, comm, &request) == MPI_SUCCESS &&
         mpi.Request_free(&request) == MPI_SUCCESS;
}

int receive_note(sumac_record* record, sumac_note* note) {
  const MPI_Comm comm = static_cast<Communicator*>(record)->ours;
  MPI_Status status{};
  int is_there = 0;
  if (comm == MPI_COMM_NULL || mpi.Iprobe(MPI_ANY_SOURCE, kTagNote, comm, &is_there, &status) != MPI_SUCCESS ||
      is_there == 0)
    return -1;
  MPI_Request request{};
  int done = 0, rc = mpi.Irecv(note, sizeof *note, MPI_BYTE, status.MPI_SOURCE, kTagNote, comm, &request);
  while (rc == MPI_SUCCESS && done == 0) rc = mpi.Test(&request, &done, MPI_STATUS_IGNORE);
  return rc == MPI_SUCCESS ? status.MPI_SOURCE : -1;
}

bool add_error(const char* words, int* code) {
  if (mpi.Add_error_code(MPI_ERR_OTHER, code) != MPI_SUCCESS) return false;
  (void)mpi.Add_error_string(*code, words);
  return true;
}

void write_name(const sumac_record* record, char name[SUMAC_NAME_BYTES]) {
  std::snprintf(name, SUMAC_NAME_BYTES, "%s", name_of(static_cast<const Communicator&>(*record)).c_str());
}

}  // namespace

sumac_runtime runtime{.next = "MPI",
                      .settings = &library.process.settings,
                      .options = &library.process.options,
                      .add_error = add_error,
                      .error_bytes_max = MPI_MAX_ERROR_STRING,
                      .error_other = MPI_ERR_OTHER,
                      .error_no_memory = MPI_ERR_NO_MEM,
                      .name = write_name,
                      .places = places_of,
                      .oob = {nullptr, oob_allgather},
                      .host_ranks = 1,
                      .common_bits = common_bits,
                      .attach = attach,
                      .iallgather = iallgather,
                      .gathered = gathered,
                      .is_revoked = is_revoked,
                      .in_place = MPI_IN_PLACE,
                      .root = MPI_ROOT,
                      .proc_null = MPI_PROC_NULL,
                      .handle_bytes = sizeof(MPI_Datatype),
                      .layout = layout_of,
                      .packing = {pack, unpack},
                      .op_kind = op_kind,
                      .reduce_local = reduce_local,
                      .request_new = new_request,
                      .request_begin = begin_request,
                      .request_drop = drop_request,
                      .hold_type = hold_type,
                      .release_type = release_type,
                      .hold_op = hold_op,
                      .release_op = release_op,
                      .between = &between,
                      .threads = true,  // Our own thread moves what is posted while the program's is elsewhere.
                      .last_resort = true,
                      .no_thread = say_no_thread,
                      .asked = true,  // The user has loaded this library.
                      .drive = drive,
                      .watch_leaves = watch_leaves,
                      .send_note = send_note,
                      .receive_note = receive_note};

std::string name_of(MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME + 1] = "";
  int length = 0;
  (void)mpi.Comm_get_name(comm, name, &length);
  return name;
}

std::string name_of(const Communicator& communicator) {
  const MPI_Comm comm = communicator.handle.load();
  return comm == MPI_Comm{} ? communicator.own_name : name_of(comm);
}

void hold(Communicator& communicator) { ++communicator.users; }

void let_go(Communicator& communicator) {
  if (--communicator.users == 0) give_record(communicator);
}

bool make_keys() { return mpi.Comm_create_keyval(not_copied, on_deleted, &key, nullptr) == MPI_SUCCESS; }

void forget(MPI_Comm comm, Communicator& communicator) {
  detail::cache[detail::cached_at(comm)].store(nullptr, std::memory_order_release);
  communicator.handle.store(MPI_Comm{});
  let_go(communicator);
}

Communicator* find_slowly(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  Communicator* found = nullptr;
  int flag = 0;
  if (mpi.Comm_get_attr(comm, key, static_cast<void*>(&found), &flag) != MPI_SUCCESS) return nullptr;
  if (flag == 0) {
    auto* freeing = FreeingCommunicator::of(comm);
    if (freeing == nullptr)
      found = make(comm, false);
    else if ((found = freeing->made_again) == nullptr)
      found = freeing->made_again = make(comm, true);
  }
  if (found != nullptr) detail::cache[detail::cached_at(comm)].store(found, std::memory_order_release);
  return found;
}

void begin_world() {
  Communicator* world = find(MPI_COMM_WORLD);
  if (world == nullptr) return;
  static const CommunicatorOfMpi ranks(MPI_COMM_WORLD);  // Until the end of the job.
  if (sumac_record_begin_job(world, &ranks.record(), library.job_id, library.local_rank, library.threads) != 0)
    SUMAC_SAY("the tree's job could not begin: there is no random number");
  if (world->hosts == 1 && world->life == SUMAC_LIFE_FRESH) (void)attach(world);
}

void drop_communicators() { sumac_records_each(sumac_record_end); }

}  // namespace sumac::pmpi
