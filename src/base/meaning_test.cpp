#include "base/meaning.hpp"

#include <gtest/gtest.h>

#include <set>

namespace sumac {
namespace {

TEST(Meaning, EachHasANumberOfItsOwn) {
  std::set<std::uint16_t> seen{0};
  std::size_t count = 1;
  for (std::uint8_t kind = 0; kind < 16; ++kind)
    for (std::uint8_t op = 0; op <= kOpCount; ++op)
      for (std::uint8_t element = 0; element < kElements; ++element)
        for (const bool is_mean : {false, true}) {
          if (is_mean && static_cast<Op>(op) != Op::sum) continue;
          seen.insert(Meaning{kind, static_cast<Op>(op), is_mean, static_cast<Element>(element)}.packed());
          ++count;
        }
  EXPECT_EQ(seen.size(), count);
}

TEST(Meaning, TypesHaveTheNamesOfDtypes) {
  for (std::uint8_t dtype = 0; dtype < kDtypeCount; ++dtype)
    EXPECT_EQ(to_string(element_of(static_cast<Dtype>(dtype))), to_string(static_cast<Dtype>(dtype)));
  for (std::uint8_t element = 1; element < kElements; ++element)
    EXPECT_EQ(element_named(to_string(static_cast<Element>(element))), static_cast<Element>(element));
  EXPECT_EQ(element_named("float4"), Element::other);
  EXPECT_EQ(to_string(static_cast<Element>(kElements)), "?");
}

TEST(Meaning, SaysWhatNoOtherFieldHas) {
  EXPECT_EQ(describe_meaning(0), "");
  EXPECT_EQ(describe_meaning(Meaning{.op = Op::sum, .element = element_of(Dtype::float32)}.packed()), "float32");
  EXPECT_EQ(describe_meaning(Meaning{.op = Op::sum, .is_mean = true, .element = element_of(Dtype::float32)}.packed()),
            "float32, mean");
}

}  // namespace
}  // namespace sumac
