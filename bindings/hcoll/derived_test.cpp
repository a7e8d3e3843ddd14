// Derived types, by what a client tells of their making: pieces and extents are those that MPI defines.
#include <climits>
#include <cstddef>
#include <cstdint>

#include "bindings/hcoll/test_client.hpp"

namespace sumac::hcoll::test {
namespace {

/// A type of the client.
struct Made {
  hcoll_mpi_type_combiner_t combiner = HCOLL_MPI_COMBINER_LAST;
  std::vector<int> numbers;
  std::vector<std::ptrdiff_t> places;
  std::vector<Made*> olds;
  hcoll_datatype_t known = DTE_ZERO;
};

Made& of(void* type) { return *static_cast<Made*>(type); }

void tell_of_types() {
  auto& table = hcoll_rte_functions;
  table.rte_get_mpi_constants_fn = [](size_t* bytes, int* c, int* fortran, int*, int*, int*, int*) {
    *bytes = sizeof(void*);
    *c = 0;
    *fortran = 1;
    return 0;
  };
  table.rte_get_mpi_type_envelope_fn = [](void* type, int* numbers, int* places, int* types,
                                          hcoll_mpi_type_combiner_t* combiner) {
    *numbers = static_cast<int>(of(type).numbers.size());
    *places = static_cast<int>(of(type).places.size());
    *types = static_cast<int>(of(type).olds.size());
    *combiner = of(type).combiner;
    return 0;
  };
  table.rte_get_mpi_type_contents_fn = [](void* type, int, int, int, int* numbers, void* places, void* types) {
    std::copy(of(type).numbers.begin(), of(type).numbers.end(), numbers);
    std::copy(of(type).places.begin(), of(type).places.end(), static_cast<std::ptrdiff_t*>(places));
    std::copy(of(type).olds.begin(), of(type).olds.end(), static_cast<Made**>(types));
    return 0;
  };
  table.rte_get_hcoll_type_fn = [](void* type, hcoll_datatype_t* found) {
    if (of(type).combiner != HCOLL_MPI_COMBINER_LAST && HCOL_DTE_IS_ZERO(of(type).known))
      (void)hcoll_create_mpi_type(type, &of(type).known);
    *found = of(type).known;
    return HCOL_DTE_IS_ZERO(*found) ? static_cast<int>(HCOLL_ERR_NOT_FOUND) : 0;
  };
  table.rte_set_hcoll_type_fn = [](void* type, hcoll_datatype_t made) {
    of(type).known = made;
    return 0;
  };
}

Made basic(const hcoll_datatype_t& type) { return {.known = type}; }

/// Two elements of the type are read by rank 0 from where `wanted` says, in this order, as bytes, and rank 1 gets them as bytes.
void expect_bytes(Client& client, void* context, Made& made, const std::vector<int>& wanted) {
  hcoll_datatype_t type = DTE_ZERO;
  ASSERT_EQ(hcoll_create_mpi_type(&made, &type), HCOLL_SUCCESS);
  ASSERT_FALSE(HCOL_DTE_IS_ZERO(type));
  std::vector<unsigned char> memory(256), flat(wanted.size());
  std::iota(memory.begin(), memory.end(), 0);
  if (client.rank == 0) {
    ASSERT_EQ(hcoll_collectives.coll_bcast(memory.data(), 2, type, 0, context), HCOLL_SUCCESS);
  } else {
    ASSERT_EQ(hcoll_collectives.coll_bcast(flat.data(), static_cast<int>(flat.size()), DTE_UBYTE, 0, context),
              HCOLL_SUCCESS);
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(flat[i], wanted[i]) << i;
  }
  // And back: what lies between the pieces is kept.
  std::vector<unsigned char> other(256, 0xff);
  std::iota(flat.begin(), flat.end(), 100);
  void* handle = nullptr;
  ASSERT_EQ(client.rank == 1 ? hcoll_collectives.coll_ibcast(flat.data(), static_cast<int>(flat.size()), DTE_UBYTE, 1,
                                                             &handle, context)
                             : hcoll_collectives.coll_ibcast(other.data(), 2, type, 1, &handle, context),
            HCOLL_SUCCESS);
  EXPECT_EQ(hcoll_dt_destroy(type), HCOLL_SUCCESS);  // A program may free a type before the end.
  wait(handle);
  if (client.rank == 1) return;
  std::vector<unsigned char> expected(256, 0xff);
  for (std::size_t i = 0; i < wanted.size(); ++i) expected[static_cast<std::size_t>(wanted[i])] = flat[i];
  EXPECT_EQ(other, expected);
}

std::vector<int> bytes(const std::vector<std::pair<int, int>>& pieces, int extent) {
  std::vector<int> all;
  for (int element = 0; element < 2; ++element)
    for (const auto& [at, count] : pieces)
      for (int i = 0; i < count; ++i) all.push_back(element * extent + at + i);
  return all;
}

TEST(Derived, PiecesAndExtentsAreThoseOfMpi) {
  run_bare("aa", [](Client& client) {
    tell_of_types();
    init(kOpenMpi);
    void* const context = hcoll_create_context(&client.world);
    Made i = basic(DTE_INT32), c = basic(DTE_BYTE), d = basic(DTE_FLOAT64), pair = basic(DTE_DOUBLE_INT);
    struct Row {
      const char* name;
      Made made;
      std::vector<int> wanted;
    };
    Made vector{HCOLL_MPI_COMBINER_VECTOR, {2, 1, 3}, {}, {&i}};
    Made resized{HCOLL_MPI_COMBINER_RESIZED, {}, {0, 24}, {&i}};
    Row rows[] = {
        {"dup", {HCOLL_MPI_COMBINER_DUP, {}, {}, {&i}}, bytes({{0, 4}}, 4)},
        {"contiguous", {HCOLL_MPI_COMBINER_CONTIGUOUS, {3}, {}, {&i}}, bytes({{0, 12}}, 12)},
        {"vector: no gap behind the last block",
         {HCOLL_MPI_COMBINER_VECTOR, {2, 1, 3}, {}, {&i}},
         bytes({{0, 4}, {12, 4}}, 16)},
        {"hvector", {HCOLL_MPI_COMBINER_HVECTOR, {2, 1}, {8}, {&i}}, bytes({{0, 4}, {8, 4}}, 12)},
        {"hvector: padded to its alignment",
         {HCOLL_MPI_COMBINER_HVECTOR, {2, 1}, {6}, {&i}},
         bytes({{0, 4}, {6, 4}}, 12)},
        {"indexed, in its order",
         {HCOLL_MPI_COMBINER_INDEXED, {2, 1, 2, 3, 0}, {}, {&i}},
         bytes({{12, 4}, {0, 8}}, 16)},
        {"hindexed, a block without elements",
         {HCOLL_MPI_COMBINER_HINDEXED, {3, 1, 0, 1}, {0, 99, 8}, {&i}},
         bytes({{0, 4}, {8, 4}}, 12)},
        {"indexed block", {HCOLL_MPI_COMBINER_INDEXED_BLOCK, {2, 2, 0, 3}, {}, {&i}}, bytes({{0, 8}, {12, 8}}, 20)},
        {"hindexed block", {HCOLL_MPI_COMBINER_HINDEXED_BLOCK, {2, 1}, {4, 16}, {&i}}, bytes({{4, 4}, {16, 4}}, 16)},
        {"struct: padded", {HCOLL_MPI_COMBINER_STRUCT, {2, 1, 1}, {0, 8}, {&d, &c}}, bytes({{0, 8}, {8, 1}}, 16)},
        {"struct: of a pair",
         {HCOLL_MPI_COMBINER_STRUCT, {2, 1, 1}, {0, 16}, {&pair, &c}},
         bytes({{0, 8}, {8, 4}, {16, 1}}, 24)},
        {"resized", {HCOLL_MPI_COMBINER_RESIZED, {}, {-4, 20}, {&i}}, bytes({{0, 4}}, 20)},
        {"struct: a bound of its part counts",
         {HCOLL_MPI_COMBINER_STRUCT, {2, 1, 1}, {0, 4}, {&resized, &c}},
         bytes({{0, 4}, {4, 1}}, 24)},
        {"of a vector",
         {HCOLL_MPI_COMBINER_CONTIGUOUS, {2}, {}, {&vector}},
         bytes({{0, 4}, {12, 4}, {16, 4}, {28, 4}}, 32)},
        {"subarray, rows",
         {HCOLL_MPI_COMBINER_SUBARRAY, {2, 3, 4, 2, 2, 1, 1, 0}, {}, {&i}},
         bytes({{20, 8}, {36, 8}}, 48)},
        {"subarray, columns",
         {HCOLL_MPI_COMBINER_SUBARRAY, {2, 4, 3, 2, 2, 1, 1, 1}, {}, {&i}},
         bytes({{20, 8}, {36, 8}}, 48)},
    };
    for (Row& row : rows) {
      SCOPED_TRACE(row.name);
      expect_bytes(client, context, row.made, row.wanted);
      if (testing::Test::HasFailure()) break;
    }
    // Absolute addresses.
    int value = client.rank + 5;
    Made there{HCOLL_MPI_COMBINER_HINDEXED, {1, 1}, {reinterpret_cast<std::ptrdiff_t>(&value)}, {&i}};
    hcoll_datatype_t type = DTE_ZERO;
    ASSERT_EQ(hcoll_create_mpi_type(&there, &type), HCOLL_SUCCESS);
    ASSERT_EQ(hcoll_collectives.coll_bcast(nullptr, 1, type, 1, context), HCOLL_SUCCESS);
    EXPECT_EQ(value, 6);
    EXPECT_EQ(hcoll_dt_destroy(type), HCOLL_SUCCESS);
    EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
  });
}

TEST(Derived, WhatIsNotServedIsTheZeroType) {
  run_bare("a", [](Client&) {
    tell_of_types();
    init(kOpenMpi);
    Made i = basic(DTE_INT32), unknown = basic(DTE_ZERO);
    Made rows[] = {
        {HCOLL_MPI_COMBINER_DARRAY, {1}, {}, {&i}},
        {HCOLL_MPI_COMBINER_CONTIGUOUS, {2}, {}, {&unknown}},
        {HCOLL_MPI_COMBINER_CONTIGUOUS, {0}, {}, {&i}},
        {HCOLL_MPI_COMBINER_CONTIGUOUS, {-1}, {}, {&i}},
        {HCOLL_MPI_COMBINER_INDEXED, {2, 1}, {}, {&i}},
        {HCOLL_MPI_COMBINER_STRUCT, {2, 1, 1}, {0, 8}, {&i}},
        {HCOLL_MPI_COMBINER_VECTOR, {70000, 1, 2}, {}, {&i}},
        {HCOLL_MPI_COMBINER_SUBARRAY, {9, 1, 1, 1, 0}, {}, {&i}},
        {HCOLL_MPI_COMBINER_DUP, {}, {}, {}},
    };
    for (Made& row : rows) {
      hcoll_datatype_t type = DTE_INT32;
      EXPECT_EQ(hcoll_create_mpi_type(&row, &type), HCOLL_SUCCESS);
      EXPECT_TRUE(HCOL_DTE_IS_ZERO(type)) << row.combiner;
    }
    // A type that holds itself, and sums of bytes and places that no number holds.
    Made itself{HCOLL_MPI_COMBINER_CONTIGUOUS, {2}, {}, {&i}};
    itself.olds[0] = &itself;
    Made far{HCOLL_MPI_COMBINER_RESIZED, {}, {0, PTRDIFF_MAX}, {&i}};
    Made large{HCOLL_MPI_COMBINER_CONTIGUOUS, {INT_MAX}, {}, {&i}};
    Made larger{HCOLL_MPI_COMBINER_CONTIGUOUS, {INT_MAX}, {}, {&large}};
    Made ends[] = {
        itself,
        {HCOLL_MPI_COMBINER_CONTIGUOUS, {2}, {}, {&far}},
        {HCOLL_MPI_COMBINER_CONTIGUOUS, {8}, {}, {&larger}},
        {HCOLL_MPI_COMBINER_HINDEXED, {2, 1, 1}, {PTRDIFF_MAX, PTRDIFF_MIN}, {&i}},
        {HCOLL_MPI_COMBINER_VECTOR, {INT_MAX, 1, 1}, {}, {&i}},
    };
    for (Made& one : ends) {
      hcoll_datatype_t type = DTE_INT32;
      EXPECT_EQ(hcoll_create_mpi_type(&one, &type), HCOLL_SUCCESS);
      EXPECT_TRUE(HCOL_DTE_IS_ZERO(type)) << &one - ends;
    }
    // A function that sets the combiner alone.
    hcoll_rte_functions.rte_get_mpi_type_envelope_fn = [](void*, int*, int*, int*,
                                                          hcoll_mpi_type_combiner_t* combiner) {
      *combiner = HCOLL_MPI_COMBINER_CONTIGUOUS;
      return 0;
    };
    Made contiguous{HCOLL_MPI_COMBINER_CONTIGUOUS, {3}, {}, {&i}};
    hcoll_datatype_t type = DTE_INT32;
    EXPECT_EQ(hcoll_create_mpi_type(&contiguous, &type), HCOLL_SUCCESS);
    EXPECT_TRUE(HCOL_DTE_IS_ZERO(type));
    EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
  });
}

}  // namespace
}  // namespace sumac::hcoll::test
