#include "sim/data.hpp"

#include <cstring>

#include "reduce/reference.hpp"

namespace sumac::sim {
namespace {

/// A float of this type with a small whole value.
void put_float(std::byte* at, Dtype dtype, int value) {
  switch (dtype) {
    case Dtype::float32: {
      const auto v = static_cast<float>(value);
      std::memcpy(at, &v, sizeof v);
      return;
    }
    case Dtype::float64: {
      const auto v = static_cast<double>(value);
      std::memcpy(at, &v, sizeof v);
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

void put_value(std::byte* at, Dtype dtype, Op op, std::uint64_t noise) {
  if (is_float(dtype)) {
    // 64 members times 3 stays below 2^8, which bfloat16 still holds exactly; products are of powers of two.
    const int value = op == Op::prod ? (noise % 8 == 0 ? 2 : noise % 2 == 0 ? 1 : -1) : static_cast<int>(noise % 7) - 3;
    put_float(at, dtype, value);
    return;
  }
  // Few values, so that extremes meet ties and logical operations meet zero.
  std::uint64_t value = noise % 4 == 0 ? 0 : noise % 4 == 1 ? noise >> 8 : noise >> 60;
  std::memcpy(at, &value, width(dtype));
}

}  // namespace

std::size_t bytes_of(const OpPlan& op) noexcept {
  return op.coll == wire::Coll::allreduce ? op.count * element_bytes(op.dtype, op.op, op.tag) : 0;
}

std::vector<std::byte> make_input(const OpPlan& op, std::uint64_t session_key, std::uint32_t index,
                                  std::uint32_t rank) {
  std::vector<std::byte> bytes(bytes_of(op));
  if (bytes.empty()) return bytes;
  SplitMix64 noise(session_key * 1000003 + index * 4099ull + rank);
  const std::size_t element = element_bytes(op.dtype, op.op, op.tag);
  for (std::size_t at = 0; at < bytes.size(); at += element) {
    put_value(bytes.data() + at, op.dtype, op.op, noise.next());
    if (!is_pair(op.op)) continue;
    const std::uint64_t tag = noise.next() & 0x7F;
    // Without a tag type: 32 bits in a slot as wide as the value, whose rest stays zero.
    std::memcpy(bytes.data() + at + width(op.dtype), &tag, op.tag == Dtype::null ? 4 : width(op.tag));
  }
  return bytes;
}

std::vector<std::byte> make_expected(const OpPlan& op, std::uint64_t session_key, std::uint32_t index,
                                     std::uint32_t size) {
  std::vector<std::byte> sum = make_input(op, session_key, index, 0);
  if (sum.empty()) return sum;
  for (std::uint32_t rank = 1; rank < size; ++rank) {
    const auto input = make_input(op, session_key, index, rank);
    reduce::reference_reduce(op.op, op.dtype, op.tag, sum.data(), input.data(), op.count);
  }
  return sum;
}

}  // namespace sumac::sim
