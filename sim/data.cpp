#include "sim/data.hpp"

#include <cmath>
#include <cstring>

#include "reduce/reference.hpp"

namespace sumac::sim {
namespace {

/// Stores a float of this type near the value.
void put_float(std::byte* at, Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::float32: {
      const auto v = static_cast<float>(value);
      std::memcpy(at, &v, sizeof v);
      return;
    }
    case Dtype::float64: {
      std::memcpy(at, &value, sizeof value);
      return;
    }
    case Dtype::float16: {
      const std::uint16_t v = reduce::float16_nearest(value);
      std::memcpy(at, &v, sizeof v);
      return;
    }
    default: {
      const std::uint16_t v = reduce::bfloat16_nearest(value);
      std::memcpy(at, &v, sizeof v);
      return;
    }
  }
}

/// Stores a value for which every order of adding gives other bits.
void put_order_sensitive(std::byte* at, Dtype dtype, Op op, std::uint64_t noise) {
  const double x = 1 + static_cast<double>(noise >> 11) * 0x1p-53;
  const double size = op == Op::prod ? x / 1.5 : std::ldexp(x, static_cast<int>(noise % 7));
  put_float(at, dtype, noise % 16 < 8 ? size : -size);
}

void put_value(std::byte* at, Dtype dtype, Op op, std::uint64_t noise) {
  if (is_float(dtype)) {
    // 64 members times 3 stays below 2^8, which bfloat16 still holds exactly; products are of powers of two.
    const int value = op == Op::prod ? (noise % 8 == 0 ? 2 : noise % 2 == 0 ? 1 : -1) : static_cast<int>(noise % 7) - 3;
    put_float(at, dtype, value);
    return;
  }
  // Few different values are used, so that extremes meet ties and logical operations meet zero.
  std::uint64_t value = noise % 4 == 0 ? 0 : noise % 4 == 1 ? noise >> 8 : noise >> 60;
  std::memcpy(at, &value, width(dtype));
}

}  // namespace

std::size_t element_of(const OpPlan& op) noexcept {
  if (op.coll == wire::Coll::barrier) return 0;
  return op.op == Op::null ? width(op.dtype) : element_bytes(op.dtype, op.op, op.tag);
}

proto::Operation make_operation(const OpPlan& op, std::uint32_t index, std::uint32_t size, std::uint32_t rank) {
  proto::Operation o{.coll = op.coll, .op = op.op, .dtype = op.dtype, .tag_dtype = op.tag, .count = op.count};
  o.streaming = op.streaming;
  o.reproducible = op.reproducible;
  o.token = index;
  const proto::Range whole{0, op.count}, none{};
  const proto::Range mine{rank * op.count, (rank + 1) * op.count};
  switch (op.coll) {
    case wire::Coll::reduce:
      o.root = op.root % size;
      o.keep = rank == o.root ? whole : none;
      break;
    case wire::Coll::bcast:
      o.root = op.root % size;
      o.give = rank == o.root ? whole : none;
      o.keep = rank == o.root ? none : whole;
      break;
    case wire::Coll::reduce_scatter:
      o.count = op.count * size;
      o.keep = mine;
      break;
    case wire::Coll::allgather:
      o.count = op.count * size;
      o.block = op.count;
      o.first_block = 0;
      if (op.op == Op::null) o.give = mine;
      break;
    default: break;
  }
  if (o.count == 0) o.streaming = false;
  return o;
}

std::vector<std::byte> make_input(const proto::Operation& operation, std::uint64_t session_key, std::uint32_t rank) {
  const OpPlan kind{operation.coll, operation.op, operation.dtype, operation.tag_dtype};
  const std::size_t element = element_of(kind);
  const std::uint64_t to = std::min(operation.give.to, operation.count);
  const std::uint64_t from = std::min(operation.give.from, to);
  std::vector<std::byte> bytes((to - from) * element);
  if (bytes.empty()) return bytes;
  SplitMix64 noise(session_key * 1000003 + operation.token * 4099ull + rank);
  const Op flavour = operation.op == Op::null ? Op::sum : operation.op;
  for (std::size_t at = 0; at < bytes.size(); at += element) {
    // This allgather adds up: a member contributes zero for the others' elements.
    const std::uint64_t index = from + at / element;
    if (operation.coll == wire::Coll::allgather && operation.op == Op::bor && index / operation.block != rank) continue;
    if (operation.reproducible)
      put_order_sensitive(bytes.data() + at, operation.dtype, flavour, noise.next());
    else
      put_value(bytes.data() + at, operation.dtype, flavour, noise.next());
    if (!is_pair(operation.op)) continue;
    const std::uint64_t tag = noise.next() & 0x7F;
    // Without a tag type the tag has 32 bits, and the padding stays zero.
    std::memcpy(bytes.data() + at + pair_layout(operation.dtype, operation.tag_dtype).tag_at, &tag,
                operation.tag_dtype == Dtype::null ? 4 : width(operation.tag_dtype));
  }
  return bytes;
}

namespace {

/// Adds along the canonical tree of docs/protocol.md: split at the largest power of two below the length.
std::vector<std::byte> canonical_result(const OpPlan& op, std::uint64_t session_key, std::uint32_t index,
                                        std::uint32_t size, std::uint32_t first, std::uint32_t count) {
  if (count == 1) return make_input(make_operation(op, index, size, first), session_key, first);
  std::uint32_t left = 1;
  while (left * 2 < count) left *= 2;
  auto sum = canonical_result(op, session_key, index, size, first, left);
  const auto right = canonical_result(op, session_key, index, size, first + left, count - left);
  if (!sum.empty())
    reduce::reference_reduce(op.op, op.dtype, op.tag, sum.data(), right.data(), sum.size() / width(op.dtype));
  return sum;
}

}  // namespace

std::vector<std::byte> make_result(const OpPlan& op, std::uint64_t session_key, std::uint32_t index,
                                   std::uint32_t size) {
  if (op.coll == wire::Coll::bcast) {
    const std::uint32_t root = op.root % size;
    return make_input(make_operation(op, index, size, root), session_key, root);
  }
  if (op.reproducible) return canonical_result(op, session_key, index, size, 0, size);
  std::vector<std::byte> result;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const auto operation = make_operation(op, index, size, rank);
    const auto input = make_input(operation, session_key, rank);
    if (op.coll == wire::Coll::allgather && op.op == Op::null)
      result.insert(result.end(), input.begin(), input.end());
    else if (rank == 0)
      result = input;
    else if (!result.empty())
      reduce::reference_reduce(op.op, op.dtype, op.tag, result.data(), input.data(), operation.count);
  }
  return result;
}

}  // namespace sumac::sim
