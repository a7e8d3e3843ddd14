// The module sumac_collectives._torch: makes backends. sumac_collectives/torch.py calls it.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "bindings/python/at_exit.hpp"
#include "bindings/python/torch/backend.hpp"
#include "bindings/python/torch/completer.hpp"

namespace py = pybind11;

namespace {

/// Runs Python's signal handlers; only its main thread does. An exception of theirs stays set.
bool is_interrupted() {
  const py::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

}  // namespace

PYBIND11_MODULE(_torch, module) {
  module.attr("version") = SUMAC_PACKAGE_VERSION;
  module.attr("torch_version") = SUMAC_TORCH_VERSION;
  sumac::python::set_interrupt_check(is_interrupted);
  sumac::python::park_worker_at_exit();
  py::module_::import("atexit").attr("register")(py::cpp_function([] {
    const py::gil_scoped_release released;
    sumac::torch_backend::Stager::park();
  }));
  // Registered last and so run first: a callback may still start operations and wait for them.
  py::module_::import("atexit").attr("register")(py::cpp_function([] {
    const py::gil_scoped_release released;
    sumac::torch_backend::Completer::park();
  }));
  // Tests do not wait for the 10 s.
  module.def("name_callbacks_after", &sumac::torch_backend::Completer::set_slow_after);
  module.def(
      "make",
      [](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, std::chrono::milliseconds timeout,
         const std::string& name, bool stages_all) -> c10::intrusive_ptr<c10d::Backend> {
        return sumac::torch_backend::SumacBackend::make(store, rank, size, timeout, name, stages_all);
      },
      py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout"), py::arg("name"),
      py::arg("stages_all") = false, py::call_guard<py::gil_scoped_release>());
}
