#include "tests/host/layout.hpp"

#include <fmt/core.h>

#include <cstring>
#include <utility>

namespace sumac::tests {
namespace {

constexpr std::size_t kGuard = 128;
constexpr std::size_t kVectorMax = 4096;

std::byte pattern(std::size_t i) { return static_cast<std::byte>(0xa5 ^ (i * 31)); }

}  // namespace

Layout::Layout(const Type& type, Shape shape, std::size_t count) : shape_(shape) {
  const std::size_t width = extent(type.kind);
  if ((shape == Shape::pairs || shape == Shape::swapped) && count % 2 != 0) shape_ = Shape::plain;
  if (shape == Shape::vector && (count == 0 || count > kVectorMax)) shape_ = Shape::plain;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  offsets_ = {0};
  switch (shape_) {
    case Shape::plain: MPI_Type_dup(type.mpi, &mpi_); break;
    case Shape::strided: MPI_Type_create_resized(type.mpi, 0, static_cast<MPI_Aint>(2 * width), &mpi_); break;
    case Shape::shifted: {
      const int one = 1;
      const MPI_Aint displacement = static_cast<MPI_Aint>(width);
      MPI_Type_create_hindexed(1, &one, &displacement, type.mpi, &inner);
      MPI_Type_create_resized(inner, 0, static_cast<MPI_Aint>(3 * width), &mpi_);
      offsets_ = {width};
      break;
    }
    case Shape::pairs:
      MPI_Type_contiguous(2, type.mpi, &mpi_);
      offsets_ = {0, width};
      break;
    case Shape::swapped: {
      const int lengths[] = {1, 1}, displacements[] = {1, 0};
      MPI_Type_indexed(2, lengths, displacements, type.mpi, &mpi_);
      offsets_ = {width, 0};
      break;
    }
    case Shape::vector:
      MPI_Type_vector(static_cast<int>(count), 1, 3, type.mpi, &mpi_);
      offsets_.clear();
      for (std::size_t i = 0; i < count; ++i) offsets_.push_back(3 * i * width);
      break;
  }
  if (inner != MPI_DATATYPE_NULL) MPI_Type_free(&inner);
  // A predefined type is passed unchanged: only then may MPI take its fast paths for predefined types.
  if (shape_ == Shape::plain) {
    MPI_Type_free(&mpi_);
    mpi_ = type.mpi;
  } else {
    MPI_Type_commit(&mpi_);
  }
  MPI_Aint low = 0, length = 0;
  MPI_Type_get_extent(mpi_, &low, &length);
  unit_extent_ = static_cast<std::size_t>(length);
}

Layout::Layout(Layout&& other) noexcept
    : mpi_(std::exchange(other.mpi_, MPI_DATATYPE_NULL)),
      shape_(std::exchange(other.shape_, Shape::plain)),
      unit_extent_(other.unit_extent_),
      offsets_(std::move(other.offsets_)) {}

Layout::~Layout() {
  if (shape_ != Shape::plain) MPI_Type_free(&mpi_);
}

std::string to_string(Layout::Shape shape) {
  constexpr const char* kNames[] = {"plain", "strided", "shifted", "pairs", "swapped", "vector"};
  return kNames[static_cast<int>(shape)];
}

Image::Image(Kind kind, std::size_t bytes, std::uint64_t key) : kind_(kind), width_(extent(kind)) {
  origin_ = kGuard + width_ * (key % 5);
  now_.resize(origin_ + bytes + kGuard);
  reset();
}

void Image::reset() {
  for (std::size_t i = 0; i < now_.size(); ++i) now_[i] = pattern(i);
  expected_.clear();
  wanted_.clear();
}

void Image::put(std::size_t offset, const std::byte* element) {
  std::memcpy(now_.data() + origin_ + offset, element, width_);
}

void Image::expect(std::size_t offset, const std::byte* element) {
  expected_.push_back({offset, false});
  wanted_.insert(wanted_.end(), element, element + width_);
}

void Image::ignore(std::size_t offset) {
  expected_.push_back({offset, true});
  wanted_.resize(wanted_.size() + width_);
}

std::optional<Image::Difference> Image::compare(std::size_t roughly) const {
  auto rest = now_;
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    const auto& [offset, is_ignored] = expected_[i];
    const std::byte* found = now_.data() + origin_ + offset;
    const std::byte* wanted = wanted_.data() + i * width_;
    const bool is_right = is_ignored || (roughly == 0 ? equal(kind_, found, wanted)
                                                      : near(kind_, found, wanted, static_cast<double>(roughly),
                                                             2.0 * static_cast<double>(roughly)));
    if (!is_right) return Difference{i, static_cast<std::ptrdiff_t>(offset), show(kind_, found), show(kind_, wanted)};
    std::memcpy(rest.data() + origin_ + offset, before_.data() + origin_ + offset, width_);
  }
  if (rest == before_) return std::nullopt;
  std::size_t at = 0;
  while (rest[at] == before_[at]) ++at;
  return Difference{std::nullopt, static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(origin_),
                    fmt::format("{:#04x}", static_cast<unsigned>(rest[at])),
                    fmt::format("{:#04x}", static_cast<unsigned>(before_[at]))};
}

std::uint64_t Image::hash_of_expected() const {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const auto& [offset, is_ignored] : expected_)
    for (std::size_t i = 0; i < width_ && !is_ignored; ++i)
      hash = (hash ^ static_cast<std::uint64_t>(now_[origin_ + offset + i])) * 0x100000001b3U;
  return hash;
}

}  // namespace sumac::tests
