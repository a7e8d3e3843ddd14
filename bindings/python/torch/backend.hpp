#pragma once
// The c10d backend "sumac": PyTorch's arguments become one request of the core (core/team.hpp).
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <memory>
#include <string>
#include <vector>

#include "bindings/python/torch/work.hpp"

namespace sumac::torch_backend {

struct Collective;

class SumacBackend final : public c10d::Backend {
 public:
  using Tensors = std::vector<at::Tensor>;
  using Work = c10::intrusive_ptr<c10d::Work>;
  using Sizes = std::vector<std::int64_t>;

  /// Collective over the ranks of the store. Throws DistBackendError. `stages_all`: tensors of the CPU are treated as a device's,
  /// so that tests need no device.
  static c10::intrusive_ptr<SumacBackend> make(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                               std::chrono::milliseconds timeout, const std::string& name,
                                               bool stages_all);
  SumacBackend(std::shared_ptr<python::Team> team, std::chrono::milliseconds timeout, bool stages_all);
  ~SumacBackend() override { team_->close(); }

  const std::string getBackendName() const override { return "sumac"; }
  c10::intrusive_ptr<Options> getBackendOptions() override;
  void setTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }
  void abort() override { team_->close(); }
  void shutdown() override;
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return team_->number(); }

  bool supportsSplitting() const override { return true; }
  c10::intrusive_ptr<Backend> split(const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
                                    const c10::intrusive_ptr<Options>& opts) override;

  void startCoalescing() override { coalesced_.emplace(); }
  Work endCoalescing() override;

  Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  Work allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) override;
  Work reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
  Work allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;
  Work _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& opts) override;
  Work allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;
  Work allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;
  Work gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& opts) override;
  Work gather_into_tensor(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& opts) override;
  Work scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& opts) override;
  Work reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& opts) override;
  Work _reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& opts) override;
  Work reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                       const c10d::ReduceScatterOptions& opts) override;
  Work alltoall_base(at::Tensor& output, at::Tensor& input, Sizes& output_sizes, Sizes& input_sizes,
                     const c10d::AllToAllOptions& opts) override;
  Work alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override;
  Work barrier(const c10d::BarrierOptions& opts) override;
  void monitoredBarrier(const c10d::BarrierOptions& opts, bool waits_for_all) override;
  Work send(Tensors& tensors, int to, int tag) override;
  Work recv(Tensors& tensors, int from, int tag) override;
  Work recvAnysource(Tensors& tensors, int tag) override;

 private:
  Duration limit(std::chrono::milliseconds wanted) const {
    return wanted == c10d::kUnsetTimeout || wanted == kNoTimeout ? timeout_ : wanted;
  }
  Work start(std::unique_ptr<Collective> collective, std::chrono::milliseconds timeout, bool is_async);
  Work receive(Tensors& tensors, int from, int tag, c10d::OpType type);
  Work remember(Work work);
  /// A collective of the tensors' device.
  std::unique_ptr<Collective> begin(int kind, c10d::OpType type, const char* title,
                                    c10::ArrayRef<at::Tensor> shown) const;
  bool is_staged(const at::Tensor& tensor) const { return stages_all_ || !tensor.is_cpu(); }
  /// Host memory. That of a collective in the caller is kept for the next one.
  at::Tensor scratch(const Collective& own, at::ScalarType type, std::int64_t elements, bool is_async);
  Work start_staged(std::shared_ptr<Collective> kept, c10::intrusive_ptr<TeamWork> work);
  using Poster = std::function<std::shared_ptr<Ticket>(std::function<void(const Error*)> then)>;
  /// Posts an operation when its data have left the device.
  std::shared_ptr<Promised> when_staged(const std::shared_ptr<Ending>& ending, Poster post);
  Work allreduce_sparse(const at::Tensor& tensor, const c10d::AllreduceOptions& opts);
  Work allreduce_list(Tensors& tensors, const c10d::AllreduceOptions& opts);
  Work broadcast_list(Tensors& tensors, const c10d::BroadcastOptions& opts);
  Work allgather_list(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts);

  std::shared_ptr<python::Team> team_;
  std::chrono::milliseconds timeout_;
  bool stages_all_;
  Stager stager_;
  at::Tensor scratch_;
  std::optional<std::vector<Work>> coalesced_;
  std::uint32_t barriers_ = 0;
};

}  // namespace sumac::torch_backend
