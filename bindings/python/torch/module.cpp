// The module sumac_collectives._torch: makes backends. sumac_collectives/torch.py calls it.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "bindings/python/interpreter.hpp"
#include "bindings/python/torch/backend.hpp"
#include "bindings/python/torch/completer.hpp"

namespace py = pybind11;

PYBIND11_MODULE(_torch, module) {
  module.attr("version") = SUMAC_PACKAGE_VERSION;
  module.attr("torch_version") = SUMAC_TORCH_VERSION;
  sumac::python::follow_interpreter();
  sumac::python::at_exit(sumac::torch_backend::Stager::park);
  // Registered last and so run first: a callback may still start operations and wait for them.
  sumac::python::at_exit(sumac::torch_backend::Completer::park);
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
