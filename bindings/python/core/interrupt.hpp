#pragma once
// Ctrl-C: a thread that waits in a call asks now and then whether it is to end. The modules know how Python says so.

namespace sumac::python {

/// Called now and then by a thread that waits in a call: true ends the call with Errc::interrupted.
void set_interrupt_check(bool (*is_interrupted)());
bool is_interrupted();

}  // namespace sumac::python
