#include "base/ids.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <unordered_map>

namespace sumac {
namespace {

/// Two types are strangers if neither converts to the other, not even with parentheses, and they do not compare.
template <class A, class B>
constexpr bool kStrangers = !std::is_convertible_v<A, B> && !std::is_convertible_v<B, A> &&
                            !std::is_constructible_v<A, B> && !std::is_constructible_v<B, A> && !requires(A a, B b) {
  a == b;
};
template <class T>
constexpr bool kCalculates = requires(T a) {
  a + a;
}
|| requires(T a) { a + 1; }
|| requires(T a) { ++a; };

template <class T, class Number>
constexpr bool kIsTypedNumber =
    Id<T> && sizeof(T) == sizeof(Number) && alignof(T) == alignof(Number) &&
    std::is_trivially_copyable_v<T>&& std::has_unique_object_representations_v<T>&& std::same_as<
        Number, std::underlying_type_t<T>>&& std::same_as<decltype(number_of(T{})), Number> &&
    !std::is_convertible_v<T, Number> && !std::is_convertible_v<Number, T> && !std::is_convertible_v<int, T> &&
    !kCalculates<T>;

static_assert(kIsTypedNumber<JobId, std::uint64_t>);
static_assert(kIsTypedNumber<TreeId, std::uint32_t> && kIsTypedNumber<NodeId, std::uint32_t> &&
              kIsTypedNumber<WorldRank, std::uint32_t> && kIsTypedNumber<GroupId, std::uint32_t> &&
              kIsTypedNumber<Sequence, std::uint32_t>);
static_assert(kStrangers<JobId, TreeId> && kStrangers<JobId, GroupId> && kStrangers<TreeId, GroupId> &&
              kStrangers<NodeId, TreeId> && kStrangers<NodeId, GroupId> && kStrangers<NodeId, WorldRank> &&
              kStrangers<WorldRank, GroupId> && kStrangers<TreeId, Sequence> && kStrangers<GroupId, Sequence>);
static_assert(!Id<std::uint64_t> && !Id<int>);

template <class T>
concept HasNumber = requires(T value) {
  number_of(value);
};
static_assert(!HasNumber<std::uint32_t> && !HasNumber<bool>, "number_of() takes ids only");

static_assert(JobId{} == JobId{0} && JobId{1} < JobId{2} && number_of(JobId{7}) == 7);

static_assert(seq_before(Sequence{1}, Sequence{2}) && !seq_before(Sequence{2}, Sequence{2}));
static_assert(seq_before(Sequence{UINT32_MAX}, Sequence{0}) && !seq_before(Sequence{0}, Sequence{UINT32_MAX}));
static_assert(seq_next(Sequence{UINT32_MAX}) == Sequence{0} && seq_next(Sequence{5}, 3) == Sequence{8});
static_assert(seq_previous(Sequence{0}) == Sequence{UINT32_MAX} && seq_previous(Sequence{8}, 3) == Sequence{5});
static_assert(seq_count(Sequence{UINT32_MAX}, Sequence{2}) == 3);

TEST(Ids, PrintAsTheirNumbers) {
  EXPECT_EQ(fmt::format("{}", JobId{}), "0");
  EXPECT_EQ(fmt::format("{}", JobId{UINT64_MAX}), "18446744073709551615");
  EXPECT_EQ(fmt::format("{:x} {:#x} {:>4} {:04}", JobId{255}, JobId{255}, JobId{7}, JobId{7}), "ff 0xff    7 0007");
}

TEST(Ids, AreKeysOfMaps) {
  std::unordered_map<JobId, int> jobs;
  jobs[JobId{7}] = 1;
  EXPECT_TRUE(jobs.contains(JobId{7}));
  EXPECT_FALSE(jobs.contains(JobId{8}));
}

}  // namespace
}  // namespace sumac
