#pragma once
// Each struct of the wire is described here byte by byte, once: the page wire.md, the dump for people and the byte order of
// big-endian hosts all use these rows, so none of them can drift from the struct.
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace sumac::wire {

/// A struct made of equal numbers declares their width: `template <> inline constexpr std::size_t kNumberBytes<Pair> =
/// 4;`
template <class T>
inline constexpr std::size_t kNumberBytes = sizeof(T);
template <class T, std::size_t n>
inline constexpr std::size_t kNumberBytes<std::array<T, n>> = kNumberBytes<T>;

struct FieldRow {
  std::string_view name;
  std::size_t offset = 0;
  std::size_t bytes = 0;         ///< Bytes of the whole field.
  std::size_t number_bytes = 0;  ///< Bytes of one number in it: the unit that a big-endian host swaps.
  std::string_view meaning;
};

/// Returns whether the rows follow one another without gap or overlap and cover the whole struct.
constexpr bool covers(std::span<const FieldRow> rows, std::size_t size) noexcept {
  std::size_t at = 0;
  for (const auto& row : rows) {
    if (row.offset != at || row.number_bytes == 0 || row.bytes % row.number_bytes != 0) return false;
    at += row.bytes;
  }
  return at == size;
}

/// Returns the rows of a struct; specialised beside each message.
template <class T>
std::span<const FieldRow> layout() noexcept;

/// Converts from native to little-endian or back, which is the same exchange. It does nothing on little-endian hosts.
inline void swap_numbers([[maybe_unused]] std::span<std::byte> bytes, [[maybe_unused]] std::span<const FieldRow> rows) {
  if constexpr (std::endian::native == std::endian::big) {
    for (const auto& row : rows)
      for (std::size_t at = row.offset; at < row.offset + row.bytes; at += row.number_bytes)
        for (std::size_t i = 0; i < row.number_bytes / 2; ++i)
          std::swap(bytes[at + i], bytes[at + row.number_bytes - 1 - i]);
  }
}

template <class T>
concept Message = std::is_class_v<T> && std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>;

/// Writes the message's bytes at `to`, which has room for sizeof(T).
template <Message T>
void store(std::byte* to, const T& value) noexcept {
  std::memcpy(to, &value, sizeof value);
  if constexpr (std::endian::native == std::endian::big) swap_numbers({to, sizeof value}, layout<T>());
}

template <Message T>
std::array<std::byte, sizeof(T)> bytes_of(const T& value) noexcept {
  std::array<std::byte, sizeof(T)> bytes;
  store(bytes.data(), value);
  return bytes;
}

/// Reads a message's bytes without any check: the caller checks the fields.
template <Message T>
void load(T& value, const std::byte* from) noexcept {
  std::memcpy(static_cast<void*>(&value), from, sizeof value);
  if constexpr (std::endian::native == std::endian::big)
    swap_numbers({reinterpret_cast<std::byte*>(&value), sizeof value}, layout<T>());
}

/// Writes "name 12 other 0x00ff..." for people: numbers in decimal, byte fields as text or hex. `bytes` are in the
/// wire's byte order.
std::string dump_fields(std::span<const std::byte> bytes, std::span<const FieldRow> rows);

// A row names its field once; offset and size come from the compiler.
#define SUMAC_FIELD(Struct, field, meaning_text)                                                    \
  ::sumac::wire::FieldRow {                                                                         \
#field, offsetof(Struct, field), sizeof(Struct::field),                                         \
        ::sumac::wire::kNumberBytes < std::remove_cvref_t < decltype(Struct::field)>>, meaning_text \
  }

// Defines layout<Struct>() from the constexpr function `rows`.
#define SUMAC_LAYOUT(Struct, rows)                                                      \
  template <>                                                                           \
  std::span<const FieldRow> layout<Struct>() noexcept {                                 \
    static constexpr auto kRows = rows();                                               \
    static_assert(covers(kRows, sizeof(Struct)), "a field is missing or out of order"); \
    return kRows;                                                                       \
  }

}  // namespace sumac::wire
