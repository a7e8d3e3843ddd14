#pragma once
// A pattern is one member's part in a collective between members that only send messages to each other: which message
// goes to whom, where a received one is stored or added, and which steps wait for which others. It has no I/O and no
// buffers: a part of a buffer is an area and an offset, so the simulated run of the tests and the real engine (src/p2p)
// execute the same steps. Each algorithm of this folder is a file that appends its steps.
//
// The steps between two members are numbered in the order in which both list them: the k-th send of a member to another
// meets the k-th receive there. A step may begin when the steps that it names are over. A send is over when its bytes
// have left the memory that they lie in.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "coll/canonical.hpp"
#include "coll/cut.hpp"

namespace sumac::coll {

struct Member {
  std::uint32_t rank = 0, size = 1;
};

enum class Area : std::uint8_t {
  none,
  in,    ///< The contribution, which is only read. It may be the same memory as `out`.
  out,   ///< The result.
  work,  ///< Memory that the executor provides: Pattern::work_bytes.
};

struct Part {
  Area area = Area::none;
  std::int64_t at = 0;  ///< In bytes. Negative only where the caller's displacements are.
  friend bool operator==(const Part&, const Part&) = default;
};
constexpr Part in_at(std::uint64_t at) noexcept { return {Area::in, static_cast<std::int64_t>(at)}; }
constexpr Part out_at(std::uint64_t at) noexcept { return {Area::out, static_cast<std::int64_t>(at)}; }
constexpr Part operator+(Part part, std::uint64_t bytes) noexcept {
  return {part.area, part.at + static_cast<std::int64_t>(bytes)};
}

inline constexpr std::uint32_t kNoStep = UINT32_MAX;

struct Step {
  enum class Do : std::uint8_t {
    send,     ///< Sends `from` to the peer.
    receive,  ///< Stores the peer's message in `to`.
    add,      ///< Receives a message and stores `from` op message, or message op `from` (arrived_first), in `to`.
    combine,  ///< Stores `from` op `other` in `to`.
    copy,     ///< Copies `from` to `to`.
    join,     ///< Does nothing: it is over when the steps that it names are.
  };
  Do what = Do::join;
  bool arrived_first = false;  ///< The message has the values of lower ranks: it is the fold's left operand.
  std::uint32_t peer = 0;
  std::uint64_t bytes = 0;
  Part to{}, from{}, other{};
  std::array<std::uint32_t, 2> after{kNoStep, kNoStep};

  constexpr bool arrives() const noexcept { return what == Do::receive || what == Do::add; }
};

struct Pattern {
  std::vector<Step> steps;
  std::uint64_t work_bytes = 0;
  /// False: no message goes before its receiver has announced the memory for it. True: a message of a few bytes may go
  /// at once. Such a pattern has at most two messages from one member to another that depend on none of the receiver's.
  bool is_eager = true;
  /// True if no member is done before every member has begun.
  bool meets_all = false;

  void clear() noexcept {
    steps.clear();
    work_bytes = 0;
    is_eager = true;
    meets_all = false;
  }
  std::uint32_t put(const Step& step) {
    steps.push_back(step);
    return static_cast<std::uint32_t>(steps.size() - 1);
  }
  std::uint32_t send(std::uint32_t to, Part from, std::uint64_t bytes, std::uint32_t after = kNoStep) {
    return put({.what = Step::Do::send, .peer = to, .bytes = bytes, .from = from, .after = {after, kNoStep}});
  }
  std::uint32_t receive(std::uint32_t from, Part to, std::uint64_t bytes, std::uint32_t after = kNoStep) {
    return put({.what = Step::Do::receive, .peer = from, .bytes = bytes, .to = to, .after = {after, kNoStep}});
  }
  std::uint32_t copy(Part to, Part from, std::uint64_t bytes, std::uint32_t after = kNoStep) {
    return put({.what = Step::Do::copy, .bytes = bytes, .to = to, .from = from, .after = {after, kNoStep}});
  }
  /// Returns a step that is over when both are; kNoStep counts as over.
  std::uint32_t join(std::uint32_t a, std::uint32_t b) {
    if (a == kNoStep || b == kNoStep || a == b) return a == kNoStep ? b : a;
    return put({.what = Step::Do::join, .after = {a, b}});
  }
  /// Reserves work memory, aligned to a cache line.
  Part work(std::uint64_t bytes) {
    const Part part{Area::work, static_cast<std::int64_t>(work_bytes)};
    work_bytes += divide_up(bytes, 64) * 64;
    return part;
  }
};

/// The sizes by which large data are cut into messages.
struct Cutting {
  std::uint64_t most = 256 * 1024;  ///< The most bytes of one message.
  std::uint64_t unit = 1;           ///< Messages are whole elements.

  Cut of(std::uint64_t bytes) const noexcept { return cut(bytes, {.most = most, .unit = unit, .is_even = true}); }
};

/// Returns the beginning of block `index` when `bytes` are shared among `size` members in whole units. Blocks differ by
/// at most one unit; with fewer units than members some are empty.
constexpr std::uint64_t share_begin(std::uint64_t bytes, std::uint64_t unit, std::uint32_t size,
                                    std::uint32_t index) noexcept {
  return share_end(bytes, unit, index, size);
}

/// Every rank's block: its offset in a buffer and its size.
struct Extent {
  std::int64_t at = 0;
  std::uint64_t bytes = 0;
};

constexpr std::uint32_t next_to(Member me, std::uint32_t distance) noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{me.rank} + distance) % me.size);
}
constexpr std::uint32_t before(Member me, std::uint32_t distance) noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{me.rank} + me.size - distance % me.size) % me.size);
}

}  // namespace sumac::coll
