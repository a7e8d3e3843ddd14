#pragma once
// Are we still the process that made this? getpid() would be a system call per operation, and pthread_atfork misses plain clone(); so
// the kernel tells: it hands every child a zeroed copy of one marked page.
namespace sumac::client {

/// A number that is not 0 in the process that made it and 0 or another in its children. Called once per context.
unsigned long process_mark();

/// Is `mark` this process's? One load.
bool same_process(unsigned long mark) noexcept;

}  // namespace sumac::client
