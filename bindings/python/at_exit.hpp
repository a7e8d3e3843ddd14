#pragma once
// The end of the interpreter. Python runs these functions before it takes its modules down and before the destructors of
// PyTorch's globals run: behind them no thread of ours may touch a tensor or a team.
#include <pybind11/pybind11.h>

#include "bindings/python/core/worker.hpp"

namespace sumac::python {

inline void park_worker_at_exit() {
  pybind11::module_::import("atexit").attr("register")(pybind11::cpp_function([] {
    // The worker may need the interpreter to end its present step.
    const pybind11::gil_scoped_release released;
    Worker::park();
  }));
}

}  // namespace sumac::python
