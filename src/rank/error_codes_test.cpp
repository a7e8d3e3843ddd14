#include "rank/error_codes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace {

constexpr int kOther = 16;
std::map<int, std::string> texts;  ///< The texts that the MPI has.

bool add_error(const char* words, int* code) {
  *code = 100 + static_cast<int>(texts.size());
  texts[*code] = words;
  return true;
}

sumac_runtime runtime_of() {
  sumac_runtime runtime{};
  runtime.add_error = add_error;
  runtime.error_bytes_max = 8;
  runtime.error_other = kOther;
  return runtime;
}

TEST(ErrorCodes, AReasonHasOneCodeWithItsTextUntilThereAreTooMany) {
  const auto runtime = runtime_of();
  const int code = sumac_error_code(&runtime, "rank 3 died");
  EXPECT_EQ(texts[code], "rank 3 ") << "cut to the MPI's limit";
  EXPECT_STREQ(sumac_error_words(code), "rank 3 ");
  EXPECT_EQ(sumac_error_code(&runtime, "rank 3 died"), code);
  EXPECT_EQ(sumac_error_words(kOther), nullptr);
  int last = code;
  for (int i = 0; last != kOther; ++i) {
    ASSERT_LT(i, 100) << "there is no end to the codes";
    last = sumac_error_code(&runtime, std::to_string(i).c_str());
  }
  EXPECT_EQ(texts.size(), 32u);
  EXPECT_EQ(sumac_error_code(&runtime, "rank 3 died"), code) << "those that exist stay";
}

}  // namespace
