#include "metrics/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "base/fd.hpp"

namespace sumac::metrics {
namespace {

double number_of(std::string_view name) {
  Page page;
  add_process(page, std::nullopt);
  const auto at = page.text().find("\n" + std::string(name) + " ");
  EXPECT_NE(at, std::string::npos) << name << " in " << page.text();
  return at == std::string::npos ? -1 : std::strtod(page.text().c_str() + at + 1 + name.size(), nullptr);
}

TEST(Process, counts_descriptors) {
  const double before = number_of("process_open_fds");
  std::vector<UniqueFd> more;
  for (int i = 0; i < 3; ++i) more.emplace_back(::dup(0));
  EXPECT_EQ(number_of("process_open_fds"), before + 3);
  EXPECT_GE(number_of("process_max_fds"), before + 3);
}

TEST(Process, counts_memory_that_is_touched) {
  const double before = number_of("process_resident_memory_bytes");
  constexpr std::size_t kBytes = 64 << 20;
  const std::vector<char> touched(kBytes, 1);
  EXPECT_GE(number_of("process_resident_memory_bytes"), before + 0.9 * kBytes);
  EXPECT_GE(number_of("process_virtual_memory_bytes"), number_of("process_resident_memory_bytes"));
  EXPECT_EQ(touched.back(), 1);
}

TEST(Process, started_before_now_and_has_used_the_processor) {
  using std::chrono::system_clock;
  const double now = std::chrono::duration<double>(system_clock::now().time_since_epoch()).count();
  const double started = number_of("process_start_time_seconds");
  EXPECT_LT(started, now + 1) << "btime is cut to whole seconds";
  EXPECT_GT(started, now - 3600);
  volatile unsigned work = 0;
  while (number_of("process_cpu_seconds_total") == 0) work = work + 1;
  EXPECT_LT(number_of("process_cpu_seconds_total"), 3600);
}

}  // namespace
}  // namespace sumac::metrics
