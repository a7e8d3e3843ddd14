#pragma once
// The modules' part in the life of the interpreter: its signals, and its end.
#include <pybind11/pybind11.h>

#include "bindings/python/core/worker.hpp"
#include "rank/interrupt.hpp"

namespace sumac::python {

/// Python calls `end` before it takes its modules down and before the destructors of PyTorch's globals run: behind them no thread
/// of ours may touch a tensor or a team. The last one registered is called first.
inline void at_exit(void (*end)()) {
  pybind11::module_::import("atexit").attr("register")(pybind11::cpp_function([end] {
    // A thread that it waits for may need the interpreter to end its present step.
    const pybind11::gil_scoped_release released;
    end();
  }));
}

/// Every module calls it once.
inline void follow_interpreter() {
  // Runs Python's signal handlers; only its main thread does. An exception of theirs stays set.
  interrupt_check = [] {
    const pybind11::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
  };
  at_exit(Worker::park);
}

}  // namespace sumac::python
