// The sum of sparse tensors, as DDP needs it for embeddings with sparse gradients.
#include "bindings/python/torch/backend.hpp"

namespace sumac::torch_backend {

/// Each rank gets everybody's elements, and adds them up. The counts of elements are exchanged at once, also where the call is
/// asynchronous.
SumacBackend::Work SumacBackend::allreduce_sparse(const at::Tensor& tensor, const c10d::AllreduceOptions& opts) {
  TORCH_CHECK(tensor.is_cpu(), "sumac: allreduce: a sparse tensor on ", tensor.device(), ": call .cpu()");
  TORCH_CHECK(opts.reduceOp == c10d::ReduceOp::SUM,
              "sumac: allreduce: unsupported reduction operation: sparse tensors are only added up (SUM)");
  const at::NoGradGuard no_grad;
  const at::Tensor own = tensor.coalesce();
  const auto ranks = static_cast<std::size_t>(size_);
  at::Tensor shape = at::empty({own.dim() + 2}, at::kLong);
  shape[0] = own._nnz();
  shape[1] = own.sparse_dim();
  for (std::int64_t i = 0; i < own.dim(); ++i) shape[i + 2] = own.size(i);
  at::Tensor shapes = at::empty({size_, own.dim() + 2}, at::kLong);
  c10d::AllgatherOptions gathers;
  gathers.timeout = opts.timeout;
  gathers.asyncOp = false;
  (void)_allgather_base(shapes, shape, gathers);
  std::vector<Tensors> indices(1), values(1);
  for (std::int64_t rank = 0; rank < size_; ++rank) {
    TORCH_CHECK(shapes[rank].narrow(0, 1, own.dim() + 1).equal(shape.narrow(0, 1, own.dim() + 1)),
                "sumac: allreduce: the sparse tensors of ranks ", rank_, " and ", rank, " have different sizes");
    const auto count = shapes[rank][0].item<std::int64_t>();
    indices.front().push_back(at::empty({own.sparse_dim(), count}, own.indices().options()));
    std::vector<std::int64_t> sizes = own.values().sizes().vec();
    sizes.front() = count;
    values.front().push_back(at::empty(sizes, own.values().options()));
  }
  Tensors given_indices{own.indices().contiguous()}, given_values{own.values().contiguous()};
  gathers.asyncOp = true;
  std::vector<Work> works{allgather(indices, given_indices, gathers), allgather(values, given_values, gathers)};
  const auto both = c10::make_intrusive<Works>(std::move(works), c10d::OpType::_ALLREDUCE_SPARSE);
  auto future = both->getFuture()->then(
      [tensor, ranks](c10::ivalue::Future& all) {
        const at::NoGradGuard still_no_grad;
        const c10::InferenceMode as_made(tensor.is_inference());
        const Tensors parts = all.value().toTensorVector();
        const auto middle = parts.begin() + static_cast<std::ptrdiff_t>(ranks);
        at::Tensor result = tensor;
        result.copy_(at::sparse_coo_tensor(at::cat(Tensors(parts.begin(), middle), 1),
                                           at::cat(Tensors(middle, parts.end()), 0), tensor.sizes())
                         .coalesce());
        return c10::IValue(Tensors{tensor});
      },
      c10::ListType::create(c10::TensorType::get()));
  return remember(c10d::Work::create_from_future(future));
}

}  // namespace sumac::torch_backend
