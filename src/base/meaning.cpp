#include "base/meaning.hpp"

#include <array>

namespace sumac {
namespace {

// In the order of Element; those of Dtype have its names.
constexpr std::array<std::string_view, kElements> kNames{"",
                                                         "uint32",
                                                         "int32",
                                                         "uint64",
                                                         "int64",
                                                         "float32",
                                                         "float64",
                                                         "uint16",
                                                         "int16",
                                                         "float16",
                                                         "bfloat16",
                                                         "uint8",
                                                         "int8",
                                                         "bool",
                                                         "complex32",
                                                         "complex64",
                                                         "complex128",
                                                         "float8_e4m3fn",
                                                         "float8_e4m3fnuz",
                                                         "float8_e5m2",
                                                         "float8_e5m2fnuz",
                                                         "float8_e8m0fnu",
                                                         "longdouble",
                                                         "clongdouble",
                                                         "datetime64",
                                                         "timedelta64",
                                                         "text",
                                                         "bytes",
                                                         "record",
                                                         "another type"};

}  // namespace

std::string_view to_string(Element element) noexcept {
  const auto i = static_cast<std::size_t>(element);
  return i < kNames.size() ? kNames[i] : "?";
}

Element element_named(std::string_view name) noexcept {
  for (std::size_t i = 1; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Element>(i);
  return Element::other;
}

std::string describe_meaning(std::uint16_t packed) {
  if (packed == 0) return "";
  std::string text(to_string(static_cast<Element>(packed & 63u)));
  if (means_mean(packed)) text += text.empty() ? "mean" : ", mean";
  return text;
}

}  // namespace sumac
