// Calls in which a rank gives several tensors. PyTorch's own functions give one; a list was once a tensor for each GPU of a
// process, and programs that call a group's methods directly may still have it, as with gloo.
#include "bindings/python/torch/backend.hpp"
#include "bindings/python/torch/checks.hpp"
#include "bindings/python/torch/collective.hpp"

namespace sumac::torch_backend {
namespace {

void fold_in(at::Tensor& all, const at::Tensor& one, c10d::ReduceOp::RedOpType op) {
  switch (op) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::AVG: all.add_(one); return;
    case c10d::ReduceOp::PRODUCT: all.mul_(one); return;
    case c10d::ReduceOp::MIN: at::minimum_out(all, all, one); return;
    case c10d::ReduceOp::MAX: at::maximum_out(all, all, one); return;
    case c10d::ReduceOp::BAND: all.bitwise_and_(one); return;
    case c10d::ReduceOp::BOR: all.bitwise_or_(one); return;
    case c10d::ReduceOp::BXOR: all.bitwise_xor_(one); return;
    default: TORCH_CHECK(false, "sumac: allreduce: this operation is not defined for a list of tensors");
  }
}

}  // namespace

SumacBackend::Work SumacBackend::allreduce_list(Tensors& tensors, const c10d::AllreduceOptions& opts) {
  check_list("allreduce", "input", tensors, tensors.size());
  const at::NoGradGuard no_grad;
  at::Tensor all = tensors.front().clone(at::MemoryFormat::Contiguous);
  for (std::size_t i = 1; i < tensors.size(); ++i) fold_in(all, tensors[i], opts.reduceOp);
  auto own = begin(SUMAC_COLL_ALLREDUCE, c10d::OpType::ALLREDUCE, "sumac:all_reduce", tensors);
  const at::Tensor flat = scratch(*own, all.scalar_type(), all.numel(), opts.asyncOp);
  own->flatten(all, flat);
  own->ending->outputs = tensors;
  own->set_fold(flat, opts.reduceOp, size_);
  own->set_data(nullptr, flat.data_ptr(), bytes_of(flat));
  own->unflatten_last(flat, tensors);
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::broadcast_list(Tensors& tensors, const c10d::BroadcastOptions& opts) {
  check_list("broadcast", "input", tensors, tensors.size());
  auto own = begin(SUMAC_COLL_BCAST, c10d::OpType::BROADCAST, "sumac:broadcast", tensors);
  own->set_root(opts.rootRank);
  const at::Tensor& source = tensors[static_cast<std::size_t>(opts.rootTensor)];
  const at::Tensor flat = scratch(*own, source.scalar_type(), source.numel(), opts.asyncOp);
  if (opts.rootRank == rank_) own->flatten(source, flat);
  own->ending->outputs = tensors;
  own->set_data(nullptr, flat.data_ptr(), bytes_of(flat));
  own->unflatten_last(flat, tensors);
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

/// Each output list has the inputs of rank 0, then those of rank 1, and so on.
SumacBackend::Work SumacBackend::allgather_list(std::vector<Tensors>& outputs, Tensors& inputs,
                                                const c10d::AllgatherOptions& opts) {
  Tensors taken;
  for (const Tensors& list : outputs) {
    check_list("all_gather", "output", list, inputs.size() * static_cast<std::size_t>(size_));
    for (const at::Tensor& block : list) check_sizes("all_gather", block, inputs.front(), 1);
    taken.insert(taken.end(), list.begin(), list.end());
  }
  const std::int64_t sent = inputs.front().numel() * static_cast<std::int64_t>(inputs.size());
  auto own = begin(SUMAC_COLL_ALLGATHER, c10d::OpType::ALLGATHER, "sumac:all_gather", inputs);
  const at::Tensor flat = scratch(*own, inputs.front().scalar_type(), sent * (size_ + 1), opts.asyncOp);
  const at::Tensor in = flat.narrow(0, 0, sent), out = flat.narrow(0, sent, sent * size_);
  own->flatten(inputs, in);
  own->ending->outputs = taken;
  own->ending->lists = outputs.size();
  own->ending->keeps = {flat};
  own->set_data(in.data_ptr(), out.data_ptr(), bytes_of(in));
  own->unflatten_last(out, taken);
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

}  // namespace sumac::torch_backend
