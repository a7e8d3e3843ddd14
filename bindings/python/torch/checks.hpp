#pragma once
// The checks of what PyTorch's callers give. Each throws what gloo throws for the same mistake, a RuntimeError with gloo's phrase
// in it, because programs and PyTorch's own tests look for both; our text adds the sizes or types that were found.
#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sumac::torch_backend {

using Tensors = std::vector<at::Tensor>;

/// The root must be one of the `size` ranks, and its tensor, where a call names one, one of `tensors`.
void check_root(const char* what, std::int64_t root, int size);
void check_root_tensor(const char* what, std::int64_t index, const Tensors& tensors);

/// The tensor must be a dense one of the CPU or of PyTorch's accelerator.
void check_dense(const char* what, const at::Tensor& tensor);
/// Its elements must lie in order, too; `is_elementwise`: in any order that is the same at every rank (channels_last).
void check_tensor(const char* what, const at::Tensor& tensor, bool is_elementwise = false);
/// The two must have one type and one device.
void check_same_type(const char* what, const at::Tensor& one, const at::Tensor& other);
/// The two must have one type, and `whole` as many elements as `size` times `block`.
void check_sizes(const char* what, const at::Tensor& whole, const at::Tensor& block, int size);
/// The same for two tensors that are sent and received where they lie.
void check_pair(const char* what, const at::Tensor& whole, const at::Tensor& block, int size);
/// The list must hold `count` dense tensors of one type on one device; `list` is its name in a message: "input", "output".
void check_list(const char* what, const char* list, const Tensors& tensors, std::size_t count);

/// Returns the tensor of a list that must have exactly one.
const at::Tensor& only(const char* what, const char* list, const Tensors& tensors);
const Tensors& only(const char* what, const char* list, const std::vector<Tensors>& lists);
/// The list must have tensors of one layout, type and size, as calls once had one for each GPU of a process; returns the first.
const at::Tensor& first_of(const char* what, const Tensors& tensors);

}  // namespace sumac::torch_backend
