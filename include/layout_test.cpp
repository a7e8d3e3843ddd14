// The same rows in C++, and facts that a static assertion cannot check: strings, and that enums are as wide as int.
#include <gtest/gtest.h>
#include <sharp/api/sharp.h>
#include <sharp/api/sumac_ext.h>

#include <string>
#include <type_traits>

extern "C" int sumac_layout_c_rows(void);

namespace {

TEST(ApiLayout, EveryOffsetSizeAndValueIsThatOfLevel36) {
  int rows = 0;
#define ROW_SIZE(type, bytes) \
  ++rows;                     \
  EXPECT_EQ(sizeof(struct type), std::size_t{bytes}) << #type;
#define ROW_OFFSET(type, field, at) \
  ++rows;                           \
  EXPECT_EQ(offsetof(struct type, field), std::size_t{at}) << #type "." #field;
#define ROW_VALUE(name, number) \
  ++rows;                       \
  EXPECT_EQ(static_cast<long>(name), number) << #name;
#include "test_layout_rows.h"
  EXPECT_EQ(rows, sumac_layout_c_rows()) << "C and C++ saw different lists";
  EXPECT_EQ(std::string{SHARP_VERNO_STRING}, "3.6");
  EXPECT_EQ(std::string{SHARP_VERNO_REV}, "0");
}

TEST(ApiLayout, EnumsAreAsWideAsInt) {
  EXPECT_EQ(sizeof(sharp_datatype), sizeof(int));
  EXPECT_EQ(sizeof(sharp_reduce_op), sizeof(int));
  EXPECT_EQ(sizeof(sharp_error_no), sizeof(int));
  EXPECT_EQ(sizeof(sharp_aggregation_mode), sizeof(int));
  EXPECT_EQ(sizeof(config_print_flags), sizeof(int));
}

TEST(ApiLayout, FunctionsHaveTheKnownTypes) {
  using Handle = void**;
  static_assert(std::is_same_v<decltype(sharp_coll_init), int(sharp_coll_init_spec*, sharp_coll_context**)>);
  static_assert(std::is_same_v<decltype(sharp_coll_finalize), int(sharp_coll_context*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_caps_query), int(sharp_coll_context*, sharp_coll_caps*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_progress), int(sharp_coll_context*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_comm_init),
                               int(sharp_coll_context*, sharp_coll_comm_init_spec*, sharp_coll_comm**)>);
  static_assert(std::is_same_v<decltype(sharp_coll_comm_destroy), int(sharp_coll_comm*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_do_barrier), int(sharp_coll_comm*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_do_barrier_nb), int(sharp_coll_comm*, Handle)>);
  static_assert(std::is_same_v<decltype(sharp_coll_do_allreduce), int(sharp_coll_comm*, sharp_coll_reduce_spec*)>);
  static_assert(
      std::is_same_v<decltype(sharp_coll_do_allreduce_nb), int(sharp_coll_comm*, sharp_coll_reduce_spec*, Handle)>);
  static_assert(std::is_same_v<decltype(sharp_coll_do_reduce), int(sharp_coll_comm*, sharp_coll_reduce_spec*)>);
  static_assert(
      std::is_same_v<decltype(sharp_coll_do_reduce_nb), int(sharp_coll_comm*, sharp_coll_reduce_spec*, Handle)>);
  static_assert(std::is_same_v<decltype(sharp_coll_do_reduce_scatter), int(sharp_coll_comm*, sharp_coll_reduce_spec*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_do_reduce_scatter_nb),
                               int(sharp_coll_comm*, sharp_coll_reduce_spec*, Handle)>);
  static_assert(std::is_same_v<decltype(sharp_coll_do_allgather), int(sharp_coll_comm*, sharp_coll_gather_spec*)>);
  static_assert(
      std::is_same_v<decltype(sharp_coll_do_allgather_nb), int(sharp_coll_comm*, sharp_coll_gather_spec*, Handle)>);
  static_assert(std::is_same_v<decltype(sharp_coll_do_bcast), int(sharp_coll_comm*, sharp_coll_bcast_spec*)>);
  static_assert(
      std::is_same_v<decltype(sharp_coll_do_bcast_nb), int(sharp_coll_comm*, sharp_coll_bcast_spec*, Handle)>);
  static_assert(std::is_same_v<decltype(sharp_coll_req_test), int(void*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_req_wait), int(void*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_req_free), int(void*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_reg_mr), int(sharp_coll_context*, void*, std::size_t, Handle)>);
  static_assert(std::is_same_v<decltype(sharp_coll_reg_mr_v2),
                               int(sharp_coll_context*, void*, std::size_t, const sharp_coll_reg_params*, Handle)>);
  static_assert(std::is_same_v<decltype(sharp_coll_dereg_mr), int(sharp_coll_context*, void*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_print_config), int(FILE*, config_print_flags, const char*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_strerror), const char*(int)>);
  static_assert(std::is_same_v<decltype(sharp_coll_dump_stats), int(sharp_coll_context*)>);
  static_assert(std::is_same_v<decltype(sharp_coll_default_config), const sharp_coll_config>);
}

}  // namespace
