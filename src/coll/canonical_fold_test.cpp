#include "coll/canonical_fold.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <string>
#include <vector>

#include "coll/canonical.hpp"

namespace sumac::coll {
namespace {

/// An element of 32 bytes that holds the expression of its sum as a number of the text in a pool, so that a test sees
/// which operands were combined with which.
class Expressions {
 public:
  struct Element {
    std::size_t text;
    std::size_t unused[3];
  };

  Element operand(int i) { return {add(std::to_string(i)), {}}; }
  const std::string& text(const Element& e) const { return texts_[e.text]; }
  Fold fold() {
    Fold made;
    made.element_bytes = sizeof(Element);
    made.context = this;
    made.function = [](const Fold& f, void* out, const void* a, const void* b, std::size_t count) {
      auto* self = const_cast<Expressions*>(static_cast<const Expressions*>(f.context));
      for (std::size_t i = 0; i < count; ++i) {
        const auto& left = static_cast<const Element*>(a)[i];
        const auto& right = static_cast<const Element*>(b)[i];
        std::string sum = "(" + self->text(left) + " " + self->text(right) + ")";
        static_cast<Element*>(out)[i] = {self->add(std::move(sum)), {}};
      }
      ++self->calls;
    };
    return made;
  }

  int calls = 0;

 private:
  std::size_t add(std::string text) {
    texts_.push_back(std::move(text));
    return texts_.size() - 1;
  }
  std::vector<std::string> texts_;
};

/// The same text by the siblings of canonical.hpp, which is how the nodes of a tree find their way.
std::string by_siblings(int operands) {
  struct Part {
    RankBlock block;
    std::string text;
  };
  std::vector<Part> parts;
  for (int i = 0; i < operands; ++i) {
    Part part{{static_cast<std::uint32_t>(i), 1}, std::to_string(i)};
    for (;;) {
      const auto beside = sibling(part.block, static_cast<std::uint32_t>(operands));
      if (!beside || parts.empty() || !(parts.back().block == *beside)) break;
      part = {{beside->first, beside->count + part.block.count}, "(" + parts.back().text + " " + part.text + ")"};
      parts.pop_back();
    }
    parts.push_back(std::move(part));
  }
  EXPECT_EQ(parts.size(), 1U);
  return parts.front().text;
}

constexpr std::size_t kElements = 3;

/// Returns the sum's text; `alias` is the operand that lies in `out`, -1: none. Guards lie behind the spare buffers.
std::string folded(int operands, int alias, bool has_between) {
  Expressions expressions;
  const Fold fold = expressions.fold();
  using Vector = std::vector<Expressions::Element>;
  std::vector<Vector> in;
  for (int i = 0; i < operands; ++i) in.emplace_back(kElements, expressions.operand(i));
  Vector between(kElements);
  Vector spare(kElements * spare_buffers(operands) + 1);
  spare.back().text = 77;
  Vector own(kElements);
  Vector& out = alias >= 0 ? in[static_cast<std::size_t>(alias)] : own;
  const auto bytes_of = [](Vector& v) { return reinterpret_cast<std::byte*>(v.data()); };
  fold_canonical(fold, operands, bytes_of(out), has_between ? bytes_of(between) : bytes_of(out), bytes_of(spare),
                 kElements * sizeof(Expressions::Element),
                 [&](int i) -> const std::byte* { return bytes_of(in[static_cast<std::size_t>(i)]); });
  EXPECT_EQ(spare.back().text, 77U) << operands << " operands need more than the said spare buffers";
  EXPECT_EQ(expressions.calls, operands - 1);
  for (const auto& element : out) EXPECT_EQ(expressions.text(element), expressions.text(out.front()));
  return expressions.text(out.front());
}

TEST(CanonicalFold, adds_along_the_canonical_tree) {
  for (int operands = 1; operands <= 70; ++operands) EXPECT_EQ(folded(operands, -1, false), by_siblings(operands));
  EXPECT_EQ(folded(168, -1, true), by_siblings(168));
}

TEST(CanonicalFold, the_result_may_lie_in_one_of_the_first_two_operands) {
  for (int operands = 2; operands <= 20; ++operands)
    for (const int alias : {0, 1}) EXPECT_EQ(folded(operands, alias, false), by_siblings(operands)) << alias;
}

TEST(CanonicalFold, with_a_buffer_between_it_may_lie_in_any_operand) {
  for (int operands = 2; operands <= 20; ++operands)
    for (int alias = 0; alias < operands; ++alias)
      EXPECT_EQ(folded(operands, alias, true), by_siblings(operands)) << alias;
}

TEST(CanonicalFold, fetched_operands_fit_into_the_said_buffers) {
  for (int operands = 1; operands <= 40; ++operands) {
    Expressions expressions;
    const Fold fold = expressions.fold();
    using Vector = std::vector<Expressions::Element>;
    std::vector<Vector> in;
    for (int i = 0; i < operands; ++i) in.emplace_back(kElements, expressions.operand(i));
    Vector out(kElements), spare(kElements * fetch_buffers(operands) + 1);
    spare.back().text = 77;
    const auto bytes_of = [](Vector& v) { return reinterpret_cast<std::byte*>(v.data()); };
    const std::size_t bytes = kElements * sizeof(Expressions::Element);
    // Operand 1 lies where it is, as a member's own does.
    const auto fetch = [&](int i, std::byte* place) -> const std::byte* {
      std::byte* const from = bytes_of(in[static_cast<std::size_t>(i)]);
      if (i == 1) return from;
      std::memcpy(place, from, bytes);
      return place;
    };
    ASSERT_TRUE(fold_fetched(fold, operands, bytes_of(out), bytes_of(out), bytes_of(spare), bytes, fetch));
    EXPECT_EQ(expressions.text(out.front()), by_siblings(operands));
    EXPECT_EQ(spare.back().text, 77U) << operands;
    const auto fail_at_last = [&](int i, std::byte* place) { return i + 1 < operands ? fetch(i, place) : nullptr; };
    EXPECT_FALSE(fold_fetched(fold, operands, bytes_of(out), bytes_of(out), bytes_of(spare), bytes, fail_at_last));
  }
}

TEST(CanonicalFold, floats_are_added_in_the_default_environment_and_the_programs_is_kept) {
  std::vector<double> operands;
  for (int i = 0; i < 8; ++i) operands.push_back(1.0 / (3 + i));
  Fold fold;
  fold.element_bytes = sizeof(double);
  fold.kernel = reduce::kernel_for(Op::sum, Dtype::float64);
  const auto bytes_of = [](double* v) { return reinterpret_cast<std::byte*>(v); };
  const auto sum = [&] {
    double out = 0, spare[2];
    fold_canonical(fold, 8, bytes_of(&out), bytes_of(&out), bytes_of(spare), sizeof out,
                   [&](int i) { return bytes_of(&operands[static_cast<std::size_t>(i)]); });
    return out;
  };
  const double expected = sum();
  const int before = std::fegetround();
  std::fesetround(FE_UPWARD);
  const double upward = sum();
  const int after = std::fegetround();
  std::fesetround(before);
  EXPECT_EQ(upward, expected);
  EXPECT_EQ(after, FE_UPWARD);
}

TEST(CanonicalFold, three_operands_need_no_spare_buffer) {
  EXPECT_EQ(spare_buffers(1), 0U);
  EXPECT_EQ(spare_buffers(3), 0U);
  EXPECT_EQ(spare_buffers(4), 1U);
  EXPECT_EQ(spare_buffers(6), 1U);
  EXPECT_EQ(spare_buffers(8), 2U);
  EXPECT_EQ(spare_buffers(168), 6U);
  EXPECT_EQ(folded_element_max(2), kSpareBytes);
  EXPECT_EQ(folded_element_max(8), kSpareBytes / 3);
}

}  // namespace
}  // namespace sumac::coll
