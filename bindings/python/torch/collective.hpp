#pragma once
// A collective on its way from PyTorch's arguments to the core's request: the checks of tensors, and what they mean.
#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <memory>
#include <vector>

#include "base/types.hpp"
#include "bindings/python/torch/work.hpp"

namespace sumac::torch_backend {

/// The request with all that its pointers point to. Call bind() once it is where it stays.
struct Collective {
  Collective(int kind, c10d::OpType op_type, const char* profiler_title)
      : type(op_type), title(profiler_title), ending(std::make_shared<Ending>()) {
    request.call.coll = request.agreement.coll = static_cast<std::uint8_t>(kind);
  }

  void set_root(std::int64_t root, int size);
  void set_data(const void* in, void* out, std::size_t bytes) {
    request.call.in = in;
    request.call.out = out;
    request.call.bytes = request.agreement.bytes = bytes;
  }
  /// Sets the fold, and for AVG a last step that divides `outputs`. Throws for what is not defined.
  void set_fold(const at::Tensor& tensor, const c10d::ReduceOp& op, int size);
  void bind();

  python::Request request;
  c10d::OpType type;
  const char* title;
  std::shared_ptr<Ending> ending;
  std::vector<int> in_counts, in_at, out_counts, out_at;  ///< In units of `unit` bytes; empty: none.
  std::size_t unit = 0;

 private:
  sumac_fold_t fold_{};
  bool has_fold_ = false;
};

/// Throws ValueError unless it is a dense tensor of this machine's memory. `is_elementwise`: its elements may lie in any
/// order, the same at every rank (channels_last).
void check_tensor(const char* what, const at::Tensor& tensor, bool is_elementwise = false);
/// The same for a list that must hold `count` tensors of one type.
void check_list(const char* what, const std::vector<at::Tensor>& tensors, std::size_t count);
const at::Tensor& only(const char* what, const std::vector<at::Tensor>& tensors);
const std::vector<at::Tensor>& only(const char* what, const std::vector<std::vector<at::Tensor>>& lists);

inline std::size_t bytes_of(const at::Tensor& tensor) { return tensor.nbytes(); }

/// As counts for the v-forms. Throws if one is too large for them.
int count_of(std::int64_t elements);
std::vector<int> displacements_of(const std::vector<int>& counts);
/// Copies tensors one after the other into `flat`, and back.
void flatten(const std::vector<at::Tensor>& tensors, const at::Tensor& flat);
void unflatten(const at::Tensor& flat, const std::vector<at::Tensor>& tensors);

}  // namespace sumac::torch_backend
