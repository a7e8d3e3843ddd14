#pragma once
// Are we still the process that made this? getpid() would cost a system call per operation, and pthread_atfork misses a
// plain clone(). So the kernel tells us: it gives every child a zeroed copy of one marked page.
namespace sumac::client {

/// Returns a number that is not 0 in the process that made it, and 0 or another number in its children. Called once per
/// context.
unsigned long process_mark();

/// Is `mark` this process's? This costs one load.
bool same_process(unsigned long mark) noexcept;

}  // namespace sumac::client
