// Single copy: everybody tells where its data lies and reads the others' itself (cross memory attach), without a copy into
// shared memory. Each page read costs the kernel some work, so it pays where copies are dear: not on the machine it was
// measured on (EPYC, 2 ranks: alltoall of 64 KiB 6.2 us instead of 1.9, of 4 MiB 336 instead of 211), which is why no
// default chooses it; `sumac tune` may.
//
// Two rounds: the first says where, the second that the reader is through, so that the owner may change its data.
#include <sys/uio.h>

#include <cerrno>

#include "shm/steps.hpp"
#include "shm/turns.hpp"

namespace sumac::shm {

namespace {

enum Phase : std::uint32_t { kStart, kTell, kRead, kThrough };

enum class Way : std::uint8_t { read, write };

enum class Copied : std::uint8_t { all, gone, refused };

/// All bytes, in as many calls as the system likes.
Copied copy_across(Way way, pid_t pid, std::byte* here, std::byte* there, std::size_t bytes) noexcept {
  while (bytes > 0) {
    const iovec mine{here, bytes}, its{there, bytes};
    const ssize_t got = way == Way::read ? ::process_vm_readv(pid, &mine, 1, &its, 1, 0)
                                         : ::process_vm_writev(pid, &mine, 1, &its, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 && errno == ESRCH ? Copied::gone : Copied::refused;
    here += got, there += got, bytes -= static_cast<std::size_t>(got);
  }
  return Copied::all;
}

/// A process that ends loses its memory a little before the system calls it dead: then it is asked again.
Step step_for(Group& group, Copied copied) noexcept {
  if (copied == Copied::all) return Step::done;
  if (copied == Copied::gone) return group.look_for_dead() == Errc::ok ? Step::waiting : Step::failed;
  group.break_because(Errc::lost,
                      "reading another rank's memory was refused (process_vm_readv): set SUMAC_SHM_CMA=off");
  return Step::failed;
}

std::size_t addresses_bytes(const Group& group) noexcept {
  return static_cast<std::size_t>(group.size()) * sizeof(std::byte*);
}

bool tell(Operation& op, const std::byte* const* addresses) {
  Group& group = *op.group;
  const std::size_t bytes = addresses_bytes(group);
  if (!group.room(op.round, ring_for(bytes))) return false;
  if (addresses != nullptr) std::memcpy(payload_of(group, group.index(), op.round, bytes), addresses, bytes);
  publish(group.line(group.index(), op.round), op.round, bytes);
  return true;
}

std::byte* told_by(const Group& group, int member, int to, std::uint64_t round) noexcept {
  std::byte* address = nullptr;
  std::memcpy(&address,
              payload_of(group, member, round, addresses_bytes(group)) + static_cast<std::size_t>(to) * sizeof address,
              sizeof address);
  return address;
}

/// `address_for(m)`: what member m is told; `take(m, address)`: copies what m has for us;
/// `keep()`: copies what is our own.
template <class AddressFor, class Take, class Keep>
Step single_copy(Operation& op, const AddressFor& address_for, const Take& take, const Keep& keep) {
  Group& group = *op.group;
  if (op.phase == kStart) {
    begin_round(op);
    op.phase = kTell;
  }
  if (op.phase == kTell) {
    const std::byte* addresses[kMembersMax];
    for (int m = 0; m < group.size(); ++m) addresses[m] = address_for(m);
    if (!tell(op, addresses)) return Step::waiting;
    keep();
    op.phase = kRead;
  }
  if (op.phase == kRead) {
    for (; op.peer < group.size(); ++op.peer) {
      if (op.peer == group.index()) continue;
      if (!arrived(group.line(op.peer, op.round), op.round, addresses_bytes(group), op.polls)) return Step::waiting;
      const Copied copied = take(op.peer, told_by(group, op.peer, group.index(), op.round));
      if (copied != Copied::all) return step_for(group, copied);
    }
    group.see_all(op.round);
    group.complete(op.round);
    begin_round(op);
    // There is room: everybody has been seen in the round before.
    publish(group.line(group.index(), op.round), op.round, 0);
    op.phase = kThrough;
  }
  if (!all_arrived(op, 0)) return Step::waiting;
  group.complete(op.round);
  op.phase = kPhaseDone;
  return Step::done;
}

pid_t process_of(const Operation& op, int member) noexcept { return static_cast<pid_t>(op.group->process(member).pid); }

template <class BytesOf, class OffsetOf>
Step gather_single(Operation& op, const BytesOf& bytes_of, const OffsetOf& offset_of) {
  const Call& call = *op.call;
  const int me = op.group->index();
  std::byte* const out = out_bytes(call);
  const std::byte* const mine = call.in_place() ? out + offset_of(me) : in_bytes(call);
  return single_copy(
      op, [&](int) { return mine; },
      [&](int m, std::byte* there) {
        return copy_across(Way::read, process_of(op, m), out + offset_of(m), there, bytes_of(m));
      },
      [&] {
        if (!call.in_place() && bytes_of(me) != 0) std::memcpy(out + offset_of(me), mine, bytes_of(me));
      });
}

template <class BytesFrom, class OffsetTo, class OffsetFrom>
Step rows_single(Operation& op, const BytesFrom& bytes_from, const OffsetTo& offset_to, const OffsetFrom& offset_from) {
  const Call& call = *op.call;
  const int me = op.group->index();
  std::byte* const out = out_bytes(call);
  const std::byte* const in = in_bytes(call);
  return single_copy(
      op, [&](int m) { return in + offset_to(m); },
      [&](int m, std::byte* there) {
        return copy_across(Way::read, process_of(op, m), out + offset_from(m), there, bytes_from(m));
      },
      [&] {
        if (bytes_from(me) != 0) std::memcpy(out + offset_from(me), in + offset_to(me), bytes_from(me));
      });
}

}  // namespace

bool single_copy_agreed(const Group& group) noexcept {
  return group.turning.single_copy && turns_fit(group) && group.size() <= kMembersMax &&
         group.eager_bytes() >= static_cast<std::size_t>(group.size()) * sizeof(std::byte*);
}

/// Of two members both copy: the reader the first half, the root the second.
Step bcast_single(Operation& op) {
  const Call& call = *op.call;
  const int me = op.group->index();
  std::byte* const data = out_bytes(call);
  const std::size_t read = op.group->size() == 2 ? round_up(call.bytes / 2, kPage) : call.bytes;
  const std::size_t first = std::min(read, call.bytes);
  return single_copy(
      op, [&](int) { return data; },
      [&](int m, std::byte* there) {
        if (m == call.root) return copy_across(Way::read, process_of(op, m), data, there, first);
        if (me != call.root || first == call.bytes) return Copied::all;
        return copy_across(Way::write, process_of(op, m), data + first, there + first, call.bytes - first);
      },
      [] {});
}

Step allgather_single(Operation& op) {
  const auto bytes = static_cast<std::ptrdiff_t>(op.call->bytes);
  return gather_single(
      op, [&](int) { return op.call->bytes; }, [&](int m) { return bytes * m; });
}

Step allgatherv_single(Operation& op) {
  const Blocks& blocks = op.call->out_blocks;
  return gather_single(
      op, [&](int m) { return blocks.bytes(m); }, [&](int m) { return blocks.offset(m); });
}

// In place (in MPI's sense, then at every member), others would read what we overwrite.
Step alltoall_single(Operation& op) {
  if (op.call->in_place()) return alltoall_exchange(op);
  const auto bytes = static_cast<std::ptrdiff_t>(op.call->bytes);
  const auto offset = [&](int m) { return bytes * m; };
  return rows_single(
      op, [&](int) { return op.call->bytes; }, offset, offset);
}

Step alltoallv_single(Operation& op) {
  if (op.call->in_place()) return alltoallv_exchange(op);
  const Blocks &to = op.call->in_blocks, &from = op.call->out_blocks;
  return rows_single(
      op, [&](int m) { return from.bytes(m); }, [&](int m) { return to.offset(m); },
      [&](int m) { return from.offset(m); });
}

}  // namespace sumac::shm
