// Collects what UCX finds on this host, by UCX's own program: it opens drivers, so it may hang.
#include <fcntl.h>
#include <unistd.h>

#include "tools/doctor/collect.hpp"
#include "tools/doctor/in_child.hpp"
#include "tools/doctor/ucx_info.hpp"

namespace sumac::tools::doctor {
namespace {

constexpr int kNoProgram = 127;

/// Becomes the program, which writes to the descriptor.
void ask(int fd) {
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
  ::dup2(fd, 1);
  ::execlp("ucx_info", "ucx_info", "-v", "-d", nullptr);
  (void)!::write(1, "!", 1);
  ::_exit(kNoProgram);
}

}  // namespace

void collect_ucx(Facts& facts) {
  const auto answer = in_children({ask}, Seconds(10))[0];
  if (answer.ended) facts.ucx = parse_ucx_info(answer.text);
  if (answer.text == "!")
    facts.ucx.error = "no ucx_info in PATH, so what UCX finds is not known (Debian: ucx-utils)";
  else if (!answer.ended)
    facts.ucx.error = "ucx_info has not ended well within 10 s";
  else if (facts.ucx.version.empty())
    facts.ucx.error = "ucx_info prints no version, so what UCX finds is not known";
}

}  // namespace sumac::tools::doctor
