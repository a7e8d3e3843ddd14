#pragma once
// A collective on its way from PyTorch's arguments to the core's request.
#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <memory>
#include <vector>

#include "base/meaning.hpp"
#include "bindings/python/torch/work.hpp"

namespace sumac::torch_backend {

/// The request with all that its pointers point to. Call bind() once it is where it stays.
struct Collective {
  Collective(int kind, c10d::OpType op_type, const char* profiler_title)
      : type(op_type), title(profiler_title), ending(std::make_shared<Ending>()) {
    request.call.coll = static_cast<std::uint8_t>(kind);
  }

  /// Sets what the ranks must agree on beside sizes; `op`: for a reduction.
  void set_meaning(at::ScalarType elements, Op op = Op::null, bool is_mean = false);
  void set_root(std::int64_t root);
  void set_data(const void* in, void* out, std::size_t bytes) {
    request.call.in = in;
    request.call.out = out;
    request.call.bytes = bytes;
  }
  /// Sets the fold, and for AVG a last step that divides `result`, which is host memory. Throws for what is not defined.
  void set_fold(const at::Tensor& result, const c10d::ReduceOp& op, int size);
  /// Host memory with the elements of a tensor: its own on the CPU. On a device, the copy is under way.
  at::Tensor given(const at::Tensor& tensor);
  /// Host memory whose elements a tensor gets in the end: its own on the CPU.
  at::Tensor taken(const at::Tensor& tensor);
  /// Both, in the same memory.
  at::Tensor changed(const at::Tensor& tensor);
  /// Copies tensors one after the other, the elements of each in order, into `flat`, which is host memory; and at the end of
  /// the operation the other way. Tensors beyond the end of `flat` get its beginning again.
  void flatten(c10::ArrayRef<at::Tensor> tensors, const at::Tensor& flat);
  void unflatten_last(const at::Tensor& flat, c10::ArrayRef<at::Tensor> tensors);
  void bind();

  python::Request request;
  c10d::OpType type;
  const char* title;
  std::shared_ptr<Ending> ending;
  c10::ArrayRef<at::Tensor> shown;                  ///< The caller's tensors, for a profiler.
  std::vector<std::int64_t> in_counts, out_counts;  ///< In units of `unit` bytes; empty: none.
  std::size_t unit = 0;

 private:
  std::vector<std::int64_t> in_at_, out_at_;
};

inline std::size_t bytes_of(const at::Tensor& tensor) { return tensor.nbytes(); }

/// The elements in the order of memory, of a tensor that check_tensor() accepts.
at::Tensor flat_view(const at::Tensor& tensor);

}  // namespace sumac::torch_backend
