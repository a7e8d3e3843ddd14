#include "bindings/pmpi/types.hpp"

#include <algorithm>
#include <climits>
#include <deque>
#include <mutex>
#include <vector>

#include "bindings/pmpi/functions.hpp"
#include "bindings/pmpi/ops.hpp"

namespace sumac::pmpi {

namespace detail {
std::array<std::atomic<Type*>, kTypesCached> types{};
}

namespace {

std::mutex types_lock;          ///< Guards all below.
std::deque<Type> type_records;  ///< Never given back to the system: see communicator.hpp.
std::vector<Type*> unused, named;
int type_key = MPI_KEYVAL_INVALID;

Type* new_type_record() {
  if (unused.empty()) return &type_records.emplace_back();
  Type* record = unused.back();
  unused.pop_back();
  return record;
}

/// Called by MPI_Type_free.
int on_type_deleted(MPI_Datatype type, int, void* value, void*) {
  forget(type, *static_cast<Type*>(value));
  return MPI_SUCCESS;
}

int type_not_copied(MPI_Datatype, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

bool measure(MPI_Datatype type, sumac_layout& layout) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  int size = 0;
  if (mpi.Type_size(type, &size) != MPI_SUCCESS || size == MPI_UNDEFINED || size < 0) return false;
  if (mpi.Type_get_extent(type, &lower, &extent) != MPI_SUCCESS) return false;
  if (mpi.Type_get_true_extent(type, &true_lower, &true_extent) != MPI_SUCCESS) return false;
  layout = {.type = bits_of(type),
            .size = static_cast<std::size_t>(size),
            .extent = extent,
            .true_lb = true_lower,
            .true_extent = true_extent,
            .row = -1,
            .is_dense = true_extent == size,
            .is_flat = true_extent == size && extent == size};
  return true;
}

bool keeps_order(MPI_Datatype type);

bool inner_keeps_order(MPI_Datatype type, int integers, int addresses, int types) {
  std::vector<int> values(static_cast<std::size_t>(std::max(integers, 1)));
  std::vector<MPI_Aint> distances(static_cast<std::size_t>(std::max(addresses, 1)));
  std::vector<MPI_Datatype> inner(static_cast<std::size_t>(std::max(types, 1)));
  if (mpi.Type_get_contents(type, integers, addresses, types, values.data(), distances.data(), inner.data()) !=
      MPI_SUCCESS)
    return false;
  const bool keeps = keeps_order(inner[0]);
  for (int i = 0; i < types; ++i) {
    int numbers = 0, combiner = 0;
    (void)mpi.Type_get_envelope(inner[static_cast<std::size_t>(i)], &numbers, &numbers, &numbers, &combiner);
    if (combiner != MPI_COMBINER_NAMED) (void)mpi.Type_free(&inner[static_cast<std::size_t>(i)]);
  }
  return keeps;
}

/// True if it is certain that memory has the order of the type's signature. A struct may have it in another order and
/// yet no gap.
bool keeps_order(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  if (mpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return false;
  switch (combiner) {
    case MPI_COMBINER_NAMED: return true;
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_RESIZED: return inner_keeps_order(type, integers, addresses, types);
    default: return false;
  }
}

bool is_named(MPI_Datatype type) {
  int numbers = 0, combiner = 0;
  return mpi.Type_get_envelope(type, &numbers, &numbers, &numbers, &combiner) == MPI_SUCCESS &&
         combiner == MPI_COMBINER_NAMED;
}

/// @param is_freed  The MPI frees it, and would not call on_deleted() for another attribute.
Type* make(MPI_Datatype type, bool is_freed) {
  const bool is_predefined = is_named(type);
  sumac_layout layout;
  if (!measure(type, layout)) return nullptr;
  if (is_predefined)
    layout.row = row_of(type);
  else if (layout.is_dense && !keeps_order(type))
    layout.is_dense = layout.is_flat = false;
  const std::lock_guard guard(types_lock);
  Type* record = new_type_record();
  record->layout = layout;
  record->handle.store(type);
  if (is_predefined)
    named.push_back(record);
  else if (!is_freed && mpi.Type_set_attr(type, type_key, record) != MPI_SUCCESS) {
    record->handle.store(MPI_Datatype{});
    unused.push_back(record);
    return nullptr;
  }
  return record;
}

Type* known(MPI_Datatype type) {
  {
    const std::lock_guard guard(types_lock);
    for (Type* each : named)
      if (each->handle.load() == type) return each;
  }
  Type* found = nullptr;
  int flag = 0;
  if (is_named(type) || mpi.Type_get_attr(type, type_key, static_cast<void*>(&found), &flag) != MPI_SUCCESS ||
      flag == 0)
    return nullptr;
  return found;
}

/// MPI counts elements and bytes of packed data as int: so many elements at a time.
std::size_t elements_at_once(const sumac_layout& type) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  return std::max<std::size_t>(1, std::min<std::size_t>(INT_MAX, kBytes / std::max<std::size_t>(type.size, 1)));
}

/// A type whose elements begin at their data. MPICH 4.0 refuses MPI_BOTTOM, which is null, as a buffer of MPI_Pack and
/// MPI_Unpack, though types of absolute addresses need it; ROMIO broadcasts such a type whenever a file is opened.
int moved_to_data(const sumac_layout& type, sumac_layout& moved) {
  const int one = 1;
  const auto back = static_cast<MPI_Aint>(-type.true_lb);
  moved = type;
  MPI_Datatype made{};
  int rc = mpi.Type_create_hindexed(1, &one, &back, handle_from<MPI_Datatype>(type.type), &made);
  if (rc == MPI_SUCCESS) rc = mpi.Type_commit(&made);
  moved.type = bits_of(made);
  return rc;
}

/// Calls `convert` with the user's buffer and type, or with others for the same data if the buffer is MPI_BOTTOM. Where
/// there are no elements, null is only an address that nobody reads.
template <class Convert>
int off_bottom(const void* user, std::size_t count, const sumac_layout& type, const Convert& convert) {
  if (user != nullptr || count == 0) [[likely]]
    return convert(static_cast<char*>(const_cast<void*>(user)), type);
  sumac_layout moved;
  if (const int rc = moved_to_data(type, moved); rc != MPI_SUCCESS) return rc;
  const int rc = convert(static_cast<char*>(nullptr) + type.true_lb, moved);
  auto made = handle_from<MPI_Datatype>(moved.type);
  (void)mpi.Type_free(&made);
  return rc;
}

/// Calls `convert(user, elements, bytes, size)` for as many elements at a time as an int can count.
template <class Convert>
int in_parts(char* user, std::size_t count, const sumac_layout& type, char* bytes, const Convert& convert) {
  const std::size_t most = elements_at_once(type);
  int rc = MPI_SUCCESS;
  for (std::size_t done = 0; done < count && rc == MPI_SUCCESS; done += most) {
    const std::size_t now = std::min(count - done, most);
    rc = convert(user + static_cast<std::ptrdiff_t>(done) * type.extent, static_cast<int>(now),
                 bytes + done * type.size, static_cast<int>(now * type.size));
  }
  return rc;
}

}  // namespace

bool make_type_key() {
  return mpi.Type_create_keyval(type_not_copied, on_type_deleted, &type_key, nullptr) == MPI_SUCCESS;
}

void forget(MPI_Datatype type, Type& record) {
  const std::lock_guard guard(types_lock);
  Type* expected = &record;
  detail::types[detail::type_at(type)].compare_exchange_strong(expected, nullptr);
  record.handle.store(MPI_Datatype{});
  unused.push_back(&record);
}

const Type* find_type_slowly(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return nullptr;
  Type* found = known(type);
  if (found == nullptr) {
    auto* freeing = FreeingType::of(type);
    if (freeing == nullptr)
      found = make(type, false);
    else if ((found = freeing->made_again) == nullptr)
      found = freeing->made_again = make(type, true);
  }
  if (found != nullptr) detail::types[detail::type_at(type)].store(found, std::memory_order_release);
  return found;
}

const sumac_layout* layout_of(std::uintptr_t type, sumac_layout*) {
  const Type* known = find_type(handle_from<MPI_Datatype>(type));
  return known == nullptr ? nullptr : &known->layout;
}

int hold_type(std::uintptr_t* type) {
  MPI_Datatype held{};
  const int rc = mpi.Type_dup(handle_from<MPI_Datatype>(*type), &held);
  if (rc == MPI_SUCCESS) *type = bits_of(held);
  return rc;
}

void release_type(std::uintptr_t type) {
  auto held = handle_from<MPI_Datatype>(type);
  (void)mpi.Type_free(&held);
}

int pack(const void* user, std::size_t count, const sumac_layout* layout, void* bytes) {
  return off_bottom(user, count, *layout, [&](char* at, const sumac_layout& of) {
    return in_parts(at, count, of, static_cast<char*>(bytes), [&](const char* from, int elements, char* to, int size) {
      int position = 0;
      return mpi.Pack(from, elements, handle_from<MPI_Datatype>(of.type), to, size, &position, MPI_COMM_SELF);
    });
  });
}

int unpack(const void* bytes, void* user, std::size_t count, const sumac_layout* layout) {
  auto* const begin = static_cast<char*>(const_cast<void*>(bytes));
  return off_bottom(user, count, *layout, [&](char* at, const sumac_layout& of) {
    return in_parts(at, count, of, begin, [&](char* to, int elements, const char* from, int size) {
      int position = 0;
      return mpi.Unpack(from, size, &position, to, elements, handle_from<MPI_Datatype>(of.type), MPI_COMM_SELF);
    });
  });
}

}  // namespace sumac::pmpi
