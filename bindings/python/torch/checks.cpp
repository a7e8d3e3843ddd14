#include "bindings/python/torch/checks.hpp"

#include <ATen/DeviceAccelerator.h>

namespace sumac::torch_backend {
void check_root(const char* what, std::int64_t root, int size) {
  TORCH_CHECK(root >= 0 && root < size, "sumac: ", what, ": invalid root rank: ", root, " of ", size, " ranks");
}

void check_root_tensor(const char* what, std::int64_t index, const Tensors& tensors) {
  TORCH_CHECK(index >= 0 && index < static_cast<std::int64_t>(tensors.size()), "sumac: ", what,
              ": invalid root tensor: number ", index, " of a list of ", tensors.size());
}

void check_dense(const char* what, const at::Tensor& tensor) {
  TORCH_CHECK(tensor.layout() == at::kStrided, "sumac: ", what, ": unsupported layout: a tensor of layout ",
              tensor.layout(), "; it takes dense ones: call .to_dense()");
  TORCH_CHECK(tensor.is_cpu() || tensor.device().type() == at::getAccelerator(), "sumac: ", what,
              ": unsupported device type: a tensor on ", tensor.device(),
              "; it takes tensors on the CPU or a GPU: call .cpu()");
}

void check_tensor(const char* what, const at::Tensor& tensor, bool is_elementwise) {
  check_dense(what, tensor);
  TORCH_CHECK_VALUE(tensor.is_contiguous() || (is_elementwise && tensor.is_non_overlapping_and_dense()),
                    "sumac: ", what, ": Tensors must be contiguous, and one has sizes ", tensor.sizes(),
                    " and strides ", tensor.strides(), ": call .contiguous()");
}

void check_same_type(const char* what, const at::Tensor& one, const at::Tensor& other) {
  TORCH_CHECK(one.scalar_type() == other.scalar_type(), "sumac: ", what, ": invalid tensor type: tensors of ",
              one.scalar_type(), " and ", other.scalar_type());
  TORCH_CHECK(one.device() == other.device(), "sumac: ", what, ": tensors on ", one.device(), " and ", other.device());
}

void check_sizes(const char* what, const at::Tensor& whole, const at::Tensor& block, int size) {
  check_same_type(what, whole, block);
  TORCH_CHECK(whole.numel() == block.numel() * size, "sumac: ", what, ": invalid tensor size: ", whole.numel(),
              " elements where the ", size, size == 1 ? " rank has " : " ranks have ", block.numel(), " each");
}

void check_pair(const char* what, const at::Tensor& whole, const at::Tensor& block, int size) {
  check_tensor(what, whole);
  check_tensor(what, block);
  check_sizes(what, whole, block, size);
}

void check_list(const char* what, const char* list, const Tensors& tensors, std::size_t count) {
  TORCH_CHECK(tensors.size() == count, "sumac: ", what, ": Incorrect ", list, " list size ", tensors.size(), ". ",
              *list == 'i' ? "Input" : "Output", " list size should be ", count, ", one tensor for each rank");
  for (const at::Tensor& tensor : tensors) {
    check_dense(what, tensor);
    check_same_type(what, tensors.front(), tensor);
  }
}

const at::Tensor& only(const char* what, const char* list, const Tensors& tensors) {
  TORCH_CHECK(tensors.size() == 1, "sumac: ", what, ": requires a single-element ", list, *list == '\0' ? "" : " ",
              "tensor list, not one of ", tensors.size());
  return tensors.front();
}

const Tensors& only(const char* what, const char* list, const std::vector<Tensors>& lists) {
  TORCH_CHECK(lists.size() == 1, "sumac: ", what, ": requires a single-element ", list, " list, not one of ",
              lists.size());
  return lists.front();
}

const at::Tensor& first_of(const char* what, const Tensors& tensors) {
  TORCH_CHECK(!tensors.empty(), "sumac: ", what, ": requires non-empty tensor list");
  const at::Tensor& first = tensors.front();
  for (const at::Tensor& one : tensors) {
    TORCH_CHECK(one.layout() == first.layout(), "sumac: ", what, ": invalid tensor layout: ", first.layout(), " and ",
                one.layout());
    check_same_type(what, first, one);
    TORCH_CHECK(one.sizes() == first.sizes(), "sumac: ", what, ": invalid tensor size: ", first.sizes(), " and ",
                one.sizes());
  }
  return first;
}

}  // namespace sumac::torch_backend
