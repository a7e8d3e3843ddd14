#include "wire/layout.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/bytes.hpp"

namespace sumac::wire {
namespace {

std::uint64_t number_at(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

/// Returns text up to the closing zero if all of it is printable, else hex without trailing zeros.
std::string text_or_hex(std::span<const std::byte> bytes) {
  const auto zero = std::find(bytes.begin(), bytes.end(), std::byte{0});
  const bool printable =
      std::all_of(bytes.begin(), zero, [](std::byte b) { return b >= std::byte{0x20} && b < std::byte{0x7f}; });
  if (printable && zero != bytes.begin() && zero != bytes.end())
    return fmt::format("\"{}\"", std::string_view(reinterpret_cast<const char*>(bytes.data()),
                                                  static_cast<std::size_t>(zero - bytes.begin())));
  std::size_t length = bytes.size();
  while (length > 0 && bytes[length - 1] == std::byte{0}) --length;
  return length == 0 ? "0" : "0x" + hex(bytes.first(length), "");
}

/// Hides the keys of jobs and groups: people pass dumps around, keys must stay secret.
bool is_secret(const FieldRow& row) { return row.name == "job_key" || row.name == "key"; }

}  // namespace

std::string dump_fields(std::span<const std::byte> bytes, std::span<const FieldRow> rows) {
  std::string text;
  for (const auto& row : rows) {
    if (row.offset + row.bytes > bytes.size()) break;
    const auto field = bytes.subspan(row.offset, row.bytes);
    if (!text.empty()) text += ' ';
    text += row.name;
    text += ' ';
    if (is_secret(row)) {
      text += std::all_of(field.begin(), field.end(), [](std::byte b) { return b == std::byte{0}; }) ? "none" : "set";
    } else if (row.bytes == row.number_bytes) {
      text += fmt::format("{}", number_at(field));
    } else if (row.number_bytes == 1) {
      text += text_or_hex(field);
    } else {
      // Trailing zeros are unused entries (of a path, for instance): they would only hide the used ones.
      std::size_t used = row.bytes / row.number_bytes;
      while (used > 1 && number_at(field.subspan((used - 1) * row.number_bytes, row.number_bytes)) == 0) --used;
      for (std::size_t i = 0; i < used; ++i)
        text +=
            fmt::format("{}{}", i == 0 ? "" : ",", number_at(field.subspan(i * row.number_bytes, row.number_bytes)));
    }
  }
  return text;
}

}  // namespace sumac::wire
