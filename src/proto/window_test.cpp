#include "proto/window.hpp"

#include <gtest/gtest.h>

namespace sumac::proto {
namespace {

TEST(Window, a_number_is_live_between_what_is_kept_and_what_nobody_honest_can_have_reached) {
  // The window is 4, numbers are kept from 10 and answered up to 12: an honest child has at most 16 (for which it needs
  // result 12).
  const struct {
    const char* name;
    std::uint32_t number;
    Place place;
  } rows[] = {
      {"before what is kept is a late copy", 9, Place::late},
      {"the oldest that is kept may be asked for again", 10, Place::live},
      {"the first that is not answered is being collected", 13, Place::live},
      {"the last of the window", 16, Place::live},
      {"one more is beyond it", 17, Place::beyond},
      {"far behind is late, also by nearly half the circle", 10u - 0x7FFFFFFFu, Place::late},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(place(Sequence{row.number}, 4, Sequence{10}, Sequence{13}), row.place);
  }
}

TEST(Window, numbers_wrap) {
  const Sequence kept{0xFFFFFFFEu}, unanswered{0xFFFFFFFFu};
  const struct {
    const char* name;
    std::uint32_t number;
    Place place;
  } rows[] = {
      {"before the wrap and before what is kept", 0xFFFFFFFDu, Place::late},
      {"kept", 0xFFFFFFFEu, Place::live},
      {"behind the wrap and in the window", 0, Place::live},
      {"the last of the window", 2, Place::live},
      {"beyond it", 3, Place::beyond},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(place(Sequence{row.number}, 4, kept, unanswered), row.place);
  }
}

TEST(Window, the_ring_holds_twice_the_larger_window) {
  EXPECT_EQ(ring_size(1, 0), 2u);
  EXPECT_EQ(ring_size(8, 16), 32u);
  EXPECT_EQ(ring_size(17, 16), 64u);
  EXPECT_EQ(ring_size(512, 16), 1024u);
}

}  // namespace
}  // namespace sumac::proto
