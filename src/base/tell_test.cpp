#include "base/tell.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

TEST(Tell, a_line_of_a_file_reaches_the_terminal_without_its_controls) {
  testing::internal::CaptureStderr();
  tell("sumac: {}",
       "fabric.yaml: no host '\x1b[2J\xc2\x9b"
       "1m\x9b\xe2\x80\xae'\nline two\r\a");
  tell("{}", "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "sumac: fabric.yaml: no host '?[2J??1m???"
            "?'\nline two??\n\n");
}

}  // namespace
}  // namespace sumac
