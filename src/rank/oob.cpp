#include "rank/oob.hpp"

#include <fmt/format.h>

#include <cstring>

namespace sumac::rank {
namespace {

Oob& self(void* context) { return *static_cast<Oob*>(context); }

Bytes copy_of(const void* data, std::size_t bytes) {
  const auto* first = static_cast<const std::uint8_t*>(data);
  return {first, first + bytes};
}
Bytes copy_of(const void* data, int bytes) { return copy_of(data, static_cast<std::size_t>(bytes)); }

/// Copies `from`, which must have exactly so many bytes.
Result<> fill(const Exchange& ranks, void* to, const Bytes& from, std::size_t bytes) {
  if (from.size() != bytes)
    return fail(Errc::invalid, "a rank sent {} B where {} B were expected; {}", from.size(), bytes, ranks.other_job());
  std::memcpy(to, from.data(), bytes);
  return {};
}

/// The same for each rank's, one after the other.
Result<> fill_all(const Exchange& ranks, void* to, const std::vector<Bytes>& all, std::size_t bytes) {
  auto* at = static_cast<std::uint8_t*>(to);
  for (const Bytes& one : all) {
    if (auto filled = fill(ranks, at, one, bytes); !filled) return filled;
    at += bytes;
  }
  return {};
}

}  // namespace

template <class Use>
int Oob::use(Use use) {
  if (exchange_ == nullptr) return -1;
  const Result<> done = use(*exchange_);
  if (done) return 0;
  // A value of the wrong length ends the exchange too: what follows could only be worse.
  error_ = exchange_->give_up(done.error()).context;
  return -1;
}

Oob::Oob(Exchange& exchange, std::string name) : exchange_(&exchange), name_(std::move(name)) {
  record_.context = this;
  record_.rank = exchange.rank();
  record_.size = exchange.size();
  record_.name = name_.c_str();
  record_.bcast = [](void* context, void* buffer, int bytes, int root) {
    return self(context).use([&](Exchange& ranks) -> Result<> {
      auto got = ranks.bcast(root, ranks.rank() == root ? copy_of(buffer, bytes) : Bytes());
      if (!got) return tl::unexpected(got.error());
      return fill(ranks, buffer, *got, static_cast<std::size_t>(bytes));
    });
  };
  record_.gather = [](void* context, int root, void* in, void* out, int bytes) {
    return self(context).use([&](Exchange& ranks) -> Result<> {
      auto all = ranks.gather(root, copy_of(in, bytes));
      if (!all) return tl::unexpected(all.error());
      return fill_all(ranks, out, *all, static_cast<std::size_t>(bytes));  // Only the root has any.
    });
  };
}

int Oob::allgather(void* context, const void* in, void* out, std::size_t bytes) {
  return self(context).use([&](Exchange& ranks) -> Result<> {
    auto all = ranks.allgather(copy_of(in, bytes));
    if (!all) return tl::unexpected(all.error());
    return fill_all(ranks, out, *all, bytes);
  });
}

}  // namespace sumac::rank
