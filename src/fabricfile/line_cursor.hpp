#pragma once
// A position in one line of text: each step consumes what it was asked for, or leaves the line unchanged.
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sumac {

class LineCursor {
 public:
  explicit LineCursor(std::string_view line) : rest_(line) {}

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }

  LineCursor& blanks() {
    const auto first = rest_.find_first_not_of(" \t");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
    return *this;
  }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  template <class T>
  std::optional<T> number(int base = 10) {
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  /// Takes the text between a quote here and the next quote.
  std::optional<std::string_view> quoted() {
    const auto end = rest_.find('"', 1);
    if (!rest_.starts_with('"') || end == std::string_view::npos) return std::nullopt;
    const auto inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
  }
  /// Takes the text between a quote here and the last quote: descriptions are free text and may contain quotes
  /// themselves.
  std::optional<std::string_view> widely_quoted() {
    const auto end = rest_.rfind('"');
    if (!rest_.starts_with('"') || end == 0) return std::nullopt;
    const auto inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
  }

 private:
  std::string_view rest_;
};

}  // namespace sumac
