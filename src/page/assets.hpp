#pragma once
// The files of web/, compiled in.
#include <span>
#include <string_view>

namespace sumac::page {

struct Asset {
  std::string_view path;  ///< "/", "/main.js".
  std::string_view type;
  std::string_view text;
  std::string_view tag;  ///< Differs between contents.
};

std::span<const Asset> assets() noexcept;

}  // namespace sumac::page
