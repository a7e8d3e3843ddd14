// Derived types of MPI, by what the client tells of how they were made. A rank's type may differ from another's with the same
// elements, so as many as possible are served: the client does a collective by itself where its own rank's type is not.
#include <algorithm>
#include <memory>
#include <numeric>

#include "bindings/hcoll/library.hpp"
#include "bindings/hcoll/types.hpp"

namespace sumac::hcoll {
namespace {

/// Counts of the members of a type's making.
constexpr int kNumbersMost = 1 << 20;
/// The blocks of a type, of which those that follow each other are one piece.
constexpr int kBlocksMost = 1 << 26;
/// So many types are made from each other: a client whose type holds itself would have no end.
constexpr int kDepthMost = 1000;

using Layout = dte_ptr;

Layout layout_of_predefined(const dte_data_representation_t& type) {
  const Element element = element_of(type);
  if (element.layout != nullptr) return *element.layout;
  const auto bytes = static_cast<std::ptrdiff_t>(element.bytes);
  const bool is_pair = (type.id >= HCOL_DTE_FLOAT_INT && type.id <= HCOL_DTE_2FLOAT64) ||
                       (type.id >= HCOL_DTE_FLOAT32_COMPLEX && type.id <= HCOL_DTE_FLOAT128_COMPLEX);
  return {{{{0, element.bytes}}, element.bytes, bytes, 0, is_pair ? bytes / 2 : bytes}};
}

class Maker {
 public:
  Maker() { ++depth_; }
  ~Maker() { --depth_; }
  bool make(void* type, Layout& made);

 private:
  bool add_block(std::ptrdiff_t count, std::ptrdiff_t at) { return made_.add(olds_[0], count, at); }
  bool read(void* type);
  bool add_all();
  bool add_subarray();
  std::ptrdiff_t extent() const { return olds_.empty() ? 0 : olds_[0].extent; }

  static thread_local int depth_;
  hcoll_mpi_type_combiner_t combiner_ = HCOLL_MPI_COMBINER_LAST;
  std::vector<int> numbers_;
  std::vector<std::ptrdiff_t> places_;
  std::vector<Layout> olds_;
  Layout made_;
};

thread_local int Maker::depth_ = 0;

bool Maker::add_subarray() {
  const auto dimensions = static_cast<std::size_t>(numbers_[0]);
  if (numbers_.size() != 3 * dimensions + 2 || dimensions == 0) return false;
  std::size_t bytes = 0;
  int c = 0, fortran = 0, block = 0, cyclic = 0, none = 0, standard = 0;
  if (hcoll_rte_functions.rte_get_mpi_constants_fn == nullptr ||
      hcoll_rte_functions.rte_get_mpi_constants_fn(&bytes, &c, &fortran, &block, &cyclic, &none, &standard) != 0)
    return false;
  const int order = numbers_.back();
  if (order != c && order != fortran) return false;
  // From here on the last dimension is the one whose elements follow each other.
  std::vector<std::ptrdiff_t> sizes, parts, starts;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t from = order == c ? i : dimensions - 1 - i;
    sizes.push_back(numbers_[1 + from]);
    parts.push_back(numbers_[1 + dimensions + from]);
    starts.push_back(numbers_[1 + 2 * dimensions + from]);
  }
  std::vector<std::ptrdiff_t> at(dimensions, 0);
  const std::ptrdiff_t rows =
      std::accumulate(parts.begin(), parts.end() - 1, std::ptrdiff_t{1}, [](auto a, auto b) { return a * b; });
  if (rows > static_cast<std::ptrdiff_t>(rank::kPiecesMost)) return false;
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    std::ptrdiff_t index = 0;
    for (std::size_t i = 0; i < dimensions; ++i) index = index * sizes[i] + starts[i] + at[i];
    if (!add_block(parts.back(), index * extent())) return false;
    for (std::size_t i = dimensions - 1; i-- > 0 && ++at[i] == parts[i];) at[i] = 0;
  }
  made_.resize(0, extent() * std::accumulate(sizes.begin(), sizes.end(), std::ptrdiff_t{1},
                                             [](auto a, auto b) { return a * b; }));
  return true;
}

/// Reads how the type was made. The client's own types are known to it.
bool Maker::read(void* type) {
  const auto& client = hcoll_rte_functions;
  if (depth_ > kDepthMost || client.rte_get_mpi_type_envelope_fn == nullptr ||
      client.rte_get_mpi_type_contents_fn == nullptr || client.rte_get_hcoll_type_fn == nullptr ||
      client.rte_set_hcoll_type_fn == nullptr)
    return false;
  // MPICH's function does not set the counts, and it crashes for the copy of a type, which MPICH commits half made.
  if (is_of_mpich(static_cast<int>(library().tag))) return false;
  int numbers = -1, places = -1, types = -1;
  if (client.rte_get_mpi_type_envelope_fn(type, &numbers, &places, &types, &combiner_) != HCOLL_SUCCESS) return false;
  const auto is_sound = [](int count) { return count >= 0 && count <= kNumbersMost; };
  if (!is_sound(numbers) || !is_sound(places) || !is_sound(types) || types == 0) return false;
  numbers_.resize(static_cast<std::size_t>(numbers));
  places_.resize(static_cast<std::size_t>(places));
  std::vector<void*> old(static_cast<std::size_t>(types));
  if (client.rte_get_mpi_type_contents_fn(type, numbers, places, types, numbers_.data(), places_.data(), old.data()) !=
      HCOLL_SUCCESS)
    return false;
  for (void* one : old) {
    hcoll_datatype_t known = zero_dte;
    if (client.rte_get_hcoll_type_fn(one, &known) != HCOLL_SUCCESS) return false;
    const bool is_derived = known.id == HCOL_DTE_MPI && !HCOL_DTE_IS_INLINE(known);
    if (element_of(known).bytes == 0) return false;
    olds_.push_back(is_derived ? *HCOL_DTE_PTR(known) : layout_of_predefined(known));
  }
  return true;
}

bool Maker::add_all() {
  const auto has = [&](std::size_t numbers, std::size_t places) {
    return numbers_.size() >= numbers && places_.size() >= places;
  };
  const auto counted = [&](std::size_t each, std::size_t more, bool by_places) {
    if (numbers_.empty() || numbers_[0] < 0) return false;
    const auto count = static_cast<std::size_t>(numbers_[0]);
    return has(1 + more + each * count, by_places ? count : 0);
  };
  const int count = numbers_.empty() ? 0 : numbers_[0];
  const auto number = [&](int i) { return static_cast<std::ptrdiff_t>(numbers_[static_cast<std::size_t>(i)]); };
  const auto place = [&](int i) { return places_[static_cast<std::size_t>(i)]; };
  const auto each = [&](const auto& add_one) {
    if (count > kBlocksMost) return false;
    for (int i = 0; i < count; ++i)
      if (!add_one(i)) return false;
    return true;
  };
  switch (combiner_) {
    case HCOLL_MPI_COMBINER_DUP:
    case HCOLL_MPI_COMBINER_RESIZED:
      if (!add_block(1, 0)) return false;
      if (combiner_ == HCOLL_MPI_COMBINER_DUP) return true;
      if (!has(0, 2)) return false;
      made_.resize(place(0), place(1));
      return true;
    case HCOLL_MPI_COMBINER_CONTIGUOUS: return has(1, 0) && add_block(count, 0);
    case HCOLL_MPI_COMBINER_VECTOR:
      return has(3, 0) && each([&](int i) { return add_block(number(1), i * number(2) * extent()); });
    case HCOLL_MPI_COMBINER_HVECTOR:
      return has(2, 1) && each([&](int i) { return add_block(number(1), i * place(0)); });
    case HCOLL_MPI_COMBINER_INDEXED:
      return counted(2, 0, false) &&
             each([&](int i) { return add_block(number(1 + i), number(1 + count + i) * extent()); });
    case HCOLL_MPI_COMBINER_HINDEXED:
      return counted(1, 0, true) && each([&](int i) { return add_block(number(1 + i), place(i)); });
    case HCOLL_MPI_COMBINER_INDEXED_BLOCK:
      return counted(1, 1, false) && each([&](int i) { return add_block(number(1), number(2 + i) * extent()); });
    case HCOLL_MPI_COMBINER_HINDEXED_BLOCK:
      return has(2, static_cast<std::size_t>(std::max(count, 0))) &&
             each([&](int i) { return add_block(number(1), place(i)); });
    case HCOLL_MPI_COMBINER_STRUCT:
      return counted(1, 0, true) && olds_.size() >= static_cast<std::size_t>(count) &&
             each([&](int i) { return made_.add(olds_[static_cast<std::size_t>(i)], number(1 + i), place(i)); });
    case HCOLL_MPI_COMBINER_SUBARRAY: return has(5, 0) && add_subarray();
    default: return false;
  }
}

bool Maker::make(void* type, Layout& made) {
  if (!read(type) || !add_all() || made_.bytes == 0) return false;
  made = std::move(made_);
  return true;
}

}  // namespace
}  // namespace sumac::hcoll

extern "C" {

int hcoll_create_mpi_type(void* mpi_type, hcoll_datatype_t* made) {
  if (made == nullptr) return HCOLL_ERR_BAD_PARAM;
  *made = zero_dte;
  return sumac::hcoll::guarded([&] {
    auto layout = std::make_unique<dte_ptr>();
    if (!sumac::hcoll::Maker().make(mpi_type, *layout)) return HCOLL_SUCCESS;
    hcoll_datatype_t type{};
    type.id = HCOL_DTE_MPI;
    type.rep.ptr = layout.get();
    if (hcoll_rte_functions.rte_set_hcoll_type_fn(mpi_type, type) != HCOLL_SUCCESS) return HCOLL_SUCCESS;
    (void)layout.release();  // The client gives it to hcoll_dt_destroy().
    *made = type;
    return HCOLL_SUCCESS;
  });
}

int hcoll_dt_destroy(hcoll_datatype_t type) {
  if (type.id == HCOL_DTE_MPI && !HCOL_DTE_IS_INLINE(type)) delete HCOL_DTE_PTR(type);
  return HCOLL_SUCCESS;
}

}  // extern "C"
