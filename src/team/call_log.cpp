#include "team/call_log.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sumac::team {
namespace {

constexpr std::size_t kTables = 2;

std::size_t ring_bytes(int ranks) noexcept { return static_cast<std::size_t>(ranks) * sizeof(CallRing); }

}  // namespace

std::size_t CallLog::bytes_for(int ranks) noexcept {
  const auto count = static_cast<std::size_t>(ranks);
  const std::size_t bytes = ring_bytes(ranks) + kTables * count * count * sizeof(std::uint64_t);
  return (bytes + alignof(CallRing) - 1) / alignof(CallRing) * alignof(CallRing);
}

CallLog::CallLog(void* memory, const Layout& layout) noexcept
    : layout_(layout),
      index_(layout.local_index(layout.rank)),
      rings_(static_cast<CallRing*>(memory)),
      tables_(reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(memory) + ring_bytes(ranks()))) {}

std::uint64_t* CallLog::row(int index) const noexcept {
  return tables_ + static_cast<std::ptrdiff_t>(table_ * ranks() + index) * ranks();
}

void CallLog::begin(std::uint64_t number, const coll::Operation& operation) noexcept {
  if (has_counts(operation)) {
    table_ ^= 1;
    std::uint64_t* to = row(index_);
    for (const int rank : layout_.host_members) *to++ = block_bytes(operation, layout_.rank, rank, true);
  }
  const coll::Terms terms = terms_of(operation, layout_.size);
  CallRing& ring = rings_[index_];
  CallRing::Entry& entry = ring.entries[number % CallRing::kEntries];
  // Release stores of the fields: a reader that sees a new field also sees that the old number is gone. Release stores of
  // the numbers: a reader that sees one sees the fields. Test: CallLog.* under TSan.
  entry.number.store(0, std::memory_order_relaxed);
  entry.bytes.store(terms.bytes, std::memory_order_release);
  entry.rest.store(terms.rest, std::memory_order_release);
  entry.number.store(number, std::memory_order_release);
  ring.begun.store(number, std::memory_order_release);
}

bool CallLog::all_have_begun(std::uint64_t number) const noexcept {
  for (int i = 0; i < ranks(); ++i)
    if (!has_begun(i, number)) return false;
  return true;
}

std::optional<coll::Terms> CallLog::read(int index, std::uint64_t number) const noexcept {
  const CallRing::Entry& entry = rings_[index].entries[number % CallRing::kEntries];
  if (entry.number.load(std::memory_order_acquire) != number) return std::nullopt;
  const coll::Terms found{entry.bytes.load(std::memory_order_acquire), entry.rest.load(std::memory_order_acquire)};
  // If the writer had begun to overwrite the fields, the acquire loads above make its zero visible here.
  if (entry.number.load(std::memory_order_relaxed) != number) return std::nullopt;
  return found;
}

Result<> CallLog::compare(std::uint64_t first, std::uint64_t last) const {
  if (last >= CallRing::kEntries) first = std::max(first, last - CallRing::kEntries + 1);
  for (std::uint64_t number = first; number <= last; ++number) {
    const auto own = read(index_, number);
    for (int i = 0; own && i < ranks(); ++i)
      if (const auto other = read(i, number); other && *other != *own)
        return fail(Errc::invalid, "the ranks differ: operation {} is {} at rank {} and {} at rank {}", number,
                    to_string(*own), layout_.rank, to_string(*other),
                    layout_.host_members[static_cast<std::size_t>(i)]);
  }
  return {};
}

Result<> CallLog::compare_blocks(std::uint64_t number, const coll::Operation& operation) const {
  const int rank = layout_.rank;
  for (int i = 0; i < ranks(); ++i) {
    const int from = layout_.host_members[static_cast<std::size_t>(i)];
    const std::uint64_t sent = row(i)[index_], expected = block_bytes(operation, from, rank, false);
    if (sent == expected) continue;
    const std::string how =
        from == rank ? fmt::format("rank {} sends {} B to itself, and expects {} B", rank, sent, expected)
                     : fmt::format("rank {} sends {} B to rank {}, which expects {} B", from, sent, rank, expected);
    return fail(Errc::invalid, "the ranks differ: in operation {}, {}, {}", number,
                to_string(terms_of(operation, layout_.size)), how);
  }
  return {};
}

}  // namespace sumac::team
