#include "p2p/call_log.hpp"

#include <fmt/format.h>

#include "base/meaning.hpp"
#include "base/types.hpp"
#include "coll/collective.hpp"

namespace sumac::p2p {
namespace {

std::uint64_t pack(const Agreement& agreement) noexcept {
  static_assert(kOpCount < 16 && kDtypeCount < 16, "half a byte holds each, with null");
  return std::uint64_t{agreement.root} << 32 | std::uint64_t{agreement.meaning} << 16 |
         std::uint64_t{agreement.coll} << 8 | static_cast<std::uint64_t>(agreement.op) << 4 |
         static_cast<std::uint64_t>(agreement.dtype);
}

Agreement unpack(std::uint64_t bytes, std::uint64_t rest) noexcept {
  return {.coll = static_cast<std::uint8_t>(rest >> 8),
          .op = static_cast<Op>(rest >> 4 & 0xF),
          .dtype = static_cast<Dtype>(rest & 0xF),
          .meaning = static_cast<std::uint16_t>(rest >> 16),
          .root = static_cast<std::uint32_t>(rest >> 32),
          .bytes = bytes};
}

}  // namespace

std::string to_string(const Agreement& agreement) {
  const coll::Collective& row = coll::collective(static_cast<coll::Kind>(agreement.coll));
  std::string text(row.name);
  if (agreement.bytes != 0) text += fmt::format(" of {} B", agreement.bytes);
  if (const std::string meant = describe_meaning(agreement.meaning); !meant.empty())
    text += fmt::format(", {}", meant);
  else if (agreement.dtype != Dtype::null)
    text += fmt::format(", {}", to_string(agreement.dtype));
  if (agreement.op != Op::null && !means_mean(agreement.meaning)) text += fmt::format(", {}", to_string(agreement.op));
  if (row.has_root) text += fmt::format(", root {}", agreement.root);
  return text;
}

void CallLog::begin(std::uint64_t number, const Agreement& agreement) noexcept {
  CallRing& ring = rings_[index_];
  CallRing::Entry& entry = ring.entries[number % CallRing::kEntries];
  // Release stores of the fields: a reader that sees a new field also sees that the old number is gone. Release stores of
  // the numbers: a reader that sees one sees the fields. Test: CallLog.* under TSan.
  entry.number.store(0, std::memory_order_relaxed);
  entry.bytes.store(agreement.bytes, std::memory_order_release);
  entry.rest.store(pack(agreement), std::memory_order_release);
  entry.number.store(number, std::memory_order_release);
  ring.begun.store(number, std::memory_order_release);
}

std::optional<Agreement> CallLog::read(int index, std::uint64_t number) const noexcept {
  const CallRing::Entry& entry = rings_[index].entries[number % CallRing::kEntries];
  if (entry.number.load(std::memory_order_acquire) != number) return std::nullopt;
  const Agreement found =
      unpack(entry.bytes.load(std::memory_order_acquire), entry.rest.load(std::memory_order_acquire));
  // If the writer had begun to overwrite the fields, the acquire loads above make its zero visible here.
  if (entry.number.load(std::memory_order_relaxed) != number) return std::nullopt;
  return found;
}

}  // namespace sumac::p2p
