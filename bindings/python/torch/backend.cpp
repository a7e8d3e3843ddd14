#include "bindings/python/torch/backend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "bindings/python/torch/checks.hpp"
#include "bindings/python/torch/collective.hpp"

namespace sumac::torch_backend {
namespace {

/// A group's timeout is that of its operations too, and a process may start more slowly than an operation takes.
constexpr Duration kMakeWithinAtLeast = Seconds{5};

/// PyTorch's 0 and -1 stand for no limit.
Duration limit_of(std::chrono::milliseconds timeout) {
  return timeout <= std::chrono::milliseconds{0} ? Duration::max() : Duration(timeout);
}

class TorchStore final : public python::Store {
 public:
  explicit TorchStore(c10::intrusive_ptr<c10d::Store> store) : store_(std::move(store)) {}

  /// A group that is destroyed and made again has the same store, under torchrun for instance, and its old keys are there.
  /// So the k-th time of each rank has keys of its own.
  Result<> enter(int rank) {
    return asked([&] { round_ = fmt::format("{}/", store_->add(fmt::format("sumac/rounds/{}", rank), 1)); });
  }
  Result<> set(const std::string& key, const python::Bytes& value) override {
    return asked([&] { store_->set(round_ + key, value); });
  }
  Result<std::optional<python::Bytes>> get(const std::string& key, Duration at_most) override {
    // Not Store::wait(): a TCPStore writes warnings for each wait that is over, and a FileStore counts in whole seconds.
    const Time until = monotonic_now() + at_most;
    const std::string there = round_ + key;
    bool is_there = false;
    python::Bytes found;
    auto looked = asked([&] {
      while (!(is_there = store_->check({there})) && monotonic_now() < until) std::this_thread::sleep_for(at_most / 8);
      if (is_there) found = store_->get(there);
    });
    if (!looked) return tl::unexpected(looked.error());
    return is_there ? std::optional(std::move(found)) : std::nullopt;
  }

 private:
  template <class Ask>
  static Result<> asked(const Ask& ask) try {
    ask();
    return {};
  } catch (const std::exception& error) {
    // PyTorch's own errors have its C++ stack in what(), which is of no use to a reader.
    const auto* const own = dynamic_cast<const c10::Error*>(&error);
    return fail(Errc::lost, "the store: {}", own != nullptr ? own->what_without_backtrace() : error.what());
  }

  c10::intrusive_ptr<c10d::Store> store_;
  std::string round_;
};

std::int64_t elements_of(const std::vector<at::Tensor>& tensors) {
  std::int64_t sum = 0;
  for (const at::Tensor& tensor : tensors) sum += tensor.numel();
  return sum;
}

bool have_one_size(const std::vector<at::Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const at::Tensor& one) { return one.numel() == tensors.front().numel(); });
}

at::Tensor bytes_view(const at::Tensor& tensor) { return flat_view(tensor).view(at::kByte); }

std::vector<std::int64_t> counts_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::int64_t> counts;
  for (const at::Tensor& tensor : tensors) counts.push_back(tensor.numel());
  return counts;
}

}  // namespace

c10::intrusive_ptr<SumacBackend> SumacBackend::make(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                                    std::chrono::milliseconds timeout, const std::string& name,
                                                    bool stages_all) {
  const auto refuse = [&](const Error& why) {
    raise({why.code, fmt::format("sumac: rank {} of {}: {}", rank, size, why.context)});
  };
  TorchStore meeting(store);
  if (auto entered = meeting.enter(rank); !entered) refuse(entered.error());
  // The store's own limit counts too, as for all others that use it.
  const Duration within = std::max(std::min(limit_of(timeout), limit_of(store->getTimeout())), kMakeWithinAtLeast);
  auto team = python::Team::make(meeting, rank, size, {.name = name, .make_within = within});
  if (!team) refuse(team.error());
  return c10::make_intrusive<SumacBackend>(std::move(*team), timeout, stages_all);
}

SumacBackend::SumacBackend(std::shared_ptr<python::Team> team, std::chrono::milliseconds timeout, bool stages_all)
    : Backend(team->rank(), team->size()), team_(std::move(team)), timeout_(timeout), stages_all_(stages_all) {
  init();
}

void SumacBackend::shutdown() {
  const auto destroyed = team_->destroy();
  raise_interrupt();
  if (!destroyed) raise(destroyed.error());
}

c10::intrusive_ptr<c10d::Backend::Options> SumacBackend::getBackendOptions() {
  return c10::make_intrusive<Options>("sumac", timeout_);
}

c10::intrusive_ptr<c10d::Backend> SumacBackend::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                      const std::vector<int>& ranks,
                                                      const c10::intrusive_ptr<Options>& opts) {
  const auto at = std::find(ranks.begin(), ranks.end(), rank_);
  if (at == ranks.end()) return nullptr;
  return make(store, static_cast<int>(at - ranks.begin()), static_cast<int>(ranks.size()),
              opts ? opts->timeout : timeout_, opts ? opts->group_name : "split", stages_all_);
}

std::unique_ptr<Collective> SumacBackend::begin(int kind, c10d::OpType type, const char* title,
                                                c10::ArrayRef<at::Tensor> shown) const {
  auto own = std::make_unique<Collective>(kind, type, title);
  own->shown = shown;
  own->set_meaning(shown.front().scalar_type());
  if (is_staged(shown.front())) own->ending->stage = std::make_shared<Stage>(shown.front().device());
  return own;
}

at::Tensor SumacBackend::scratch(const Collective& own, at::ScalarType type, std::int64_t elements, bool is_async) {
  constexpr std::int64_t kKeptBytes = 64 << 20;
  const std::int64_t bytes = elements * static_cast<std::int64_t>(c10::elementSize(type));
  // An empty view has no type to look at memory with.
  if (bytes == 0) return at::empty({0}, at::TensorOptions(type));
  at::Tensor memory;
  if (own.ending->stage) {
    memory = own.ending->stage->host(bytes);
  } else if (is_async || bytes > kKeptBytes) {
    memory = at::empty({bytes}, at::TensorOptions(at::kByte));
  } else {
    if (!scratch_.defined() || scratch_.numel() < bytes) {
      // The next call may be in another mode, and only normal memory may be changed in each.
      const c10::InferenceMode normal(false);
      scratch_ = at::empty({bytes}, at::TensorOptions(at::kByte));
    }
    memory = scratch_.narrow(0, 0, bytes);
  }
  return memory.view(type);
}

SumacBackend::Work SumacBackend::remember(Work work) {
  if (coalesced_) coalesced_->push_back(work);
  return work;
}

SumacBackend::Work SumacBackend::endCoalescing() {
  auto all = std::exchange(coalesced_, std::nullopt);
  TORCH_CHECK(all, "sumac: endCoalescing() without startCoalescing()");
  return c10::make_intrusive<Works>(std::move(*all), c10d::OpType::COALESCED);
}

SumacBackend::Work SumacBackend::start(std::unique_ptr<Collective> collective, std::chrono::milliseconds timeout,
                                       bool is_async) {
  collective->bind();
  collective->request.limit = limit(timeout);
  auto work =
      c10::make_intrusive<TeamWork>(team_, collective->ending, collective->type, collective->title, collective->shown);
  if (collective->ending->stage) return start_staged(std::move(collective), std::move(work));
  stager_.drain();
  if (!is_async) {
    auto ran = team_->run(collective->request);
    collective->ending->end(ran ? nullptr : &ran.error());
    if (!ran) raise(ran.error());
    if (const auto failed = collective->ending->exception()) std::rethrow_exception(failed);
    return work;
  }
  const std::shared_ptr<Collective> kept = std::move(collective);
  work->follow(team_->post(kept->request, [kept](const Error* why) { kept->ending->end(why); }));
  return remember(work);
}

/// Also where the call is not asynchronous: PyTorch then waits for the work.
SumacBackend::Work SumacBackend::start_staged(std::shared_ptr<Collective> kept, c10::intrusive_ptr<TeamWork> work) {
  work->follow(when_staged(kept->ending, [team = team_, kept](std::function<void(const Error*)> then) {
    return team->post(kept->request, [kept, then = std::move(then)](const Error* why) { then(why); });
  }));
  return remember(work);
}

std::shared_ptr<Promised> SumacBackend::when_staged(const std::shared_ptr<Ending>& ending, Poster post) {
  auto promised = std::make_shared<Promised>();
  ending->stage->mark();
  stager_.post(ending->stage, [ending, promised, post = std::move(post)](const Error* why) {
    const auto then = [ending](const Error* reason) { ending->end(reason); };
    if (why == nullptr) return promised->set(post(then));
    auto failed = std::make_shared<Ticket>();
    failed->then = then;
    failed->end(*why);
    promised->set(std::move(failed));
  });
  return promised;
}

// ---- reductions

SumacBackend::Work SumacBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) {
  const at::Tensor& tensor = first_of("allreduce", tensors);
  if (tensors.size() > 1) return allreduce_list(tensors, opts);
  if (tensor.is_sparse()) return allreduce_sparse(tensor, opts);
  check_tensor("allreduce", tensor, true);
  auto own = begin(SUMAC_COLL_ALLREDUCE, c10d::OpType::ALLREDUCE, "sumac:all_reduce", tensors);
  own->ending->outputs = tensors;
  const at::Tensor host = own->changed(tensor);
  own->set_fold(host, opts.reduceOp, size_);
  own->set_data(nullptr, host.data_ptr(), bytes_of(host));
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) {
  TORCH_CHECK(!tensors.empty(), "sumac: allreduce_coalesced: requires non-empty tensor list");
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    TORCH_CHECK(tensors[i].layout() == tensors.front().layout(),
                "sumac: allreduce_coalesced: invalid tensor layout at index ", i, ": ", tensors[i].layout(),
                " where the first is ", tensors.front().layout());
    TORCH_CHECK(tensors[i].scalar_type() == tensors.front().scalar_type(),
                "sumac: allreduce_coalesced: tensors must all ", "have the same type, and there are ",
                tensors.front().scalar_type(), " and ", tensors[i].scalar_type());
  }
  check_list("allreduce_coalesced", "input", tensors, tensors.size());
  auto own = begin(SUMAC_COLL_ALLREDUCE, c10d::OpType::ALLREDUCE_COALESCED, "sumac:all_reduce", tensors);
  const at::Tensor flat = scratch(*own, tensors.front().scalar_type(), elements_of(tensors), opts.asyncOp);
  own->flatten(tensors, flat);
  own->ending->outputs = tensors;
  own->set_fold(flat, opts.reduceOp, size_);
  own->set_data(nullptr, flat.data_ptr(), bytes_of(flat));
  own->unflatten_last(flat, tensors);
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& opts) {
  check_root("reduce", opts.rootRank, size_);
  check_root_tensor("reduce", opts.rootTensor, tensors);
  const at::Tensor& tensor = only("reduce", "", tensors);
  check_tensor("reduce", tensor, true);
  auto own = begin(SUMAC_COLL_REDUCE, c10d::OpType::REDUCE, "sumac:reduce", tensors);
  own->set_root(opts.rootRank);
  own->ending->outputs = tensors;
  const bool is_root = opts.rootRank == rank_;
  const at::Tensor host = is_root ? own->changed(tensor) : own->given(tensor);
  own->set_fold(host, opts.reduceOp, size_);
  if (!is_root) own->ending->divide = nullptr;
  own->set_data(is_root ? nullptr : host.data_ptr(), is_root ? host.data_ptr() : nullptr, bytes_of(host));
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                      const c10d::ReduceScatterOptions& opts) {
  check_pair("reduce_scatter_tensor", input, output, size_);
  auto own = begin(SUMAC_COLL_REDUCE_SCATTER_BLOCK, c10d::OpType::_REDUCE_SCATTER_BASE, "sumac:reduce_scatter", input);
  own->ending->outputs = {output};
  own->ending->keeps = {input};
  const at::Tensor in = own->given(input), out = own->taken(output);
  own->set_fold(out, opts.reduceOp, size_);
  own->set_data(in.data_ptr(), out.data_ptr(), bytes_of(out));
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                const c10d::ReduceScatterOptions& opts) {
  const at::Tensor& output = only("reduce_scatter", "output", outputs);
  const Tensors& blocks = only("reduce_scatter", "input", inputs);
  check_list("reduce_scatter", "input", blocks, static_cast<std::size_t>(size_));
  const at::Tensor& mine = blocks[static_cast<std::size_t>(rank_)];
  check_tensor("reduce_scatter", output);
  check_sizes("reduce_scatter", output, mine, 1);
  const bool is_even = have_one_size(blocks);
  // Blocks of different sizes: all of it is added everywhere.
  auto own = begin(is_even ? SUMAC_COLL_REDUCE_SCATTER_BLOCK : SUMAC_COLL_ALLREDUCE, c10d::OpType::REDUCE_SCATTER,
                   "sumac:reduce_scatter", blocks);
  const at::Tensor flat = scratch(*own, output.scalar_type(), elements_of(blocks), opts.asyncOp);
  own->flatten(blocks, flat);
  own->ending->keeps = {flat};
  own->ending->outputs = outputs;
  if (is_even) {
    const at::Tensor out = own->taken(output);
    own->set_fold(out, opts.reduceOp, size_);
    own->set_data(flat.data_ptr(), out.data_ptr(), bytes_of(out));
  } else {
    std::int64_t before = 0;
    for (int rank = 0; rank < rank_; ++rank) before += blocks[static_cast<std::size_t>(rank)].numel();
    const at::Tensor part = flat.narrow(0, before, output.numel());
    own->set_fold(part, opts.reduceOp, size_);
    own->set_data(nullptr, flat.data_ptr(), bytes_of(flat));
    own->unflatten_last(part, output);
  }
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                 const c10d::ReduceScatterOptions& opts) {
  TORCH_CHECK(outputs.size() == inputs.size(), "sumac: reduce_scatter_tensor_coalesced: ", outputs.size(),
              " outputs for ", inputs.size(), " inputs");
  std::vector<Work> works;
  for (std::size_t i = 0; i < inputs.size(); ++i) works.push_back(_reduce_scatter_base(outputs[i], inputs[i], opts));
  return c10::make_intrusive<Works>(std::move(works), c10d::OpType::REDUCE_SCATTER_TENSOR_COALESCED);
}

// ---- data from one to all, from all to one, from all to all

SumacBackend::Work SumacBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) {
  check_root("broadcast", opts.rootRank, size_);
  check_root_tensor("broadcast", opts.rootTensor, tensors);
  const at::Tensor& tensor = first_of("broadcast", tensors);
  if (tensors.size() > 1) return broadcast_list(tensors, opts);
  check_tensor("broadcast", tensor, true);
  auto own = begin(SUMAC_COLL_BCAST, c10d::OpType::BROADCAST, "sumac:broadcast", tensors);
  own->set_root(opts.rootRank);
  own->ending->outputs = tensors;
  const at::Tensor host = opts.rootRank == rank_ ? own->given(tensor) : own->taken(tensor);
  own->set_data(nullptr, host.data_ptr(), bytes_of(host));
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& opts) {
  check_pair("all_gather_into_tensor", output, input, size_);
  auto own = begin(SUMAC_COLL_ALLGATHER, c10d::OpType::_ALLGATHER_BASE, "sumac:all_gather", input);
  own->ending->outputs = {output};
  own->ending->keeps = {input};
  const at::Tensor in = own->given(input), out = own->taken(output);
  own->set_data(in.data_ptr(), out.data_ptr(), bytes_of(in));
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                           const c10d::AllgatherOptions& opts) {
  TORCH_CHECK(!inputs.empty() || !outputs.empty(), "sumac: all_gather: requires non-empty input tensor list");
  TORCH_CHECK(inputs.size() == outputs.size(),
              "sumac: all_gather: requires input/output tensor lists to have the same length, not ", inputs.size(),
              " and ", outputs.size());
  check_dense("all_gather", first_of("all_gather", inputs));
  if (inputs.size() > 1) return allgather_list(outputs, inputs, opts);
  const at::Tensor input = inputs.front().contiguous();
  const Tensors& blocks = outputs.front();
  TORCH_CHECK(blocks.size() == static_cast<std::size_t>(size_),
              "sumac: all_gather: invalid output tensor list: ", blocks.size(), " tensors for ", size_, " ranks");
  check_list("all_gather", "output", blocks, blocks.size());
  check_sizes("all_gather", blocks[static_cast<std::size_t>(rank_)], input, 1);
  const bool is_even = have_one_size(blocks);
  auto own = begin(is_even ? SUMAC_COLL_ALLGATHER : SUMAC_COLL_ALLGATHERV, c10d::OpType::ALLGATHER, "sumac:all_gather",
                   inputs);
  const at::Tensor flat = scratch(*own, input.scalar_type(), elements_of(blocks), opts.asyncOp);
  own->ending->outputs = blocks;
  own->ending->keeps = {input};
  const at::Tensor in = own->given(input);
  own->set_data(in.data_ptr(), flat.data_ptr(), is_even ? bytes_of(in) : 0);
  if (!is_even) {
    own->out_counts = counts_of(blocks);
    own->unit = input.element_size();
  }
  own->unflatten_last(flat, blocks);
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

/// outputs[rank][i] is that rank's i-th input. All of them, as bytes, are one operation.
SumacBackend::Work SumacBackend::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                                     const c10d::AllgatherOptions& opts) {
  constexpr const char* kWhat = "all_gather_coalesced";
  TORCH_CHECK(!inputs.empty(), "sumac: ", kWhat, ": requires non-empty input tensor list");
  TORCH_CHECK(outputs.size() == static_cast<std::size_t>(size_), "sumac: ", kWhat,
              ": output lists should be equal to world size: ", outputs.size(), " lists for ", size_, " ranks");
  Tensors sources;
  Tensors given, taken;
  std::int64_t bytes = 0;
  for (const at::Tensor& input : inputs) {
    check_dense(kWhat, input);
    const at::Tensor source = sources.emplace_back(input.contiguous());
    TORCH_CHECK(source.device() == sources.front().device(), "sumac: ", kWhat, ": tensors on ", source.device(),
                " and ", sources.front().device());
    given.push_back(bytes_view(source));
    bytes += given.back().numel();
  }
  for (const Tensors& list : outputs) {
    TORCH_CHECK(list.size() == inputs.size(), "sumac: ", kWhat, ": ", list.size(), " outputs of a rank for ",
                inputs.size(), " inputs");
    for (std::size_t i = 0; i < list.size(); ++i) {
      TORCH_CHECK(list[i].numel() == inputs[i].numel(), "sumac: ", kWhat, ": invalid size of output tensor at index ",
                  i, ": ", list[i].sizes(), " for an input of ", inputs[i].sizes());
      TORCH_CHECK(list[i].scalar_type() == inputs[i].scalar_type(), "sumac: ", kWhat, ": invalid tensor type at index ",
                  i, ": ", list[i].scalar_type(), " for an input of ", inputs[i].scalar_type());
      check_pair(kWhat, list[i], sources[i], 1);
      taken.push_back(bytes_view(list[i]));
    }
  }
  auto own = begin(SUMAC_COLL_ALLGATHER, c10d::OpType::ALLGATHER_COALESCED, "sumac:all_gather", inputs);
  const at::Tensor flat = scratch(*own, at::kByte, bytes * (size_ + 1), opts.asyncOp);
  const at::Tensor in = flat.narrow(0, 0, bytes), out = flat.narrow(0, bytes, bytes * size_);
  own->flatten(given, in);
  for (const Tensors& list : outputs) own->ending->outputs.insert(own->ending->outputs.end(), list.begin(), list.end());
  own->ending->keeps = {flat};
  own->set_data(in.data_ptr(), out.data_ptr(), static_cast<std::size_t>(bytes));
  own->unflatten_last(out, taken);
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                 const c10d::AllgatherOptions& opts) {
  TORCH_CHECK(outputs.size() == inputs.size(), "sumac: all_gather_into_tensor_coalesced: ", outputs.size(),
              " outputs for ", inputs.size(), " inputs");
  std::vector<Work> works;
  for (std::size_t i = 0; i < inputs.size(); ++i) works.push_back(_allgather_base(outputs[i], inputs[i], opts));
  return c10::make_intrusive<Works>(std::move(works), c10d::OpType::ALLGATHER_INTO_TENSOR_COALESCED);
}

SumacBackend::Work SumacBackend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                        const c10d::GatherOptions& opts) {
  check_root("gather", opts.rootRank, size_);
  check_dense("gather", only("gather", "input", inputs));
  const at::Tensor input = inputs.front().contiguous();
  auto own = begin(SUMAC_COLL_GATHER, c10d::OpType::GATHER, "sumac:gather", inputs);
  own->set_root(opts.rootRank);
  own->ending->keeps = {input};
  const at::Tensor in = own->given(input);
  own->set_data(in.data_ptr(), nullptr, bytes_of(in));
  if (opts.rootRank == rank_) {
    const Tensors& blocks = only("gather", "output", outputs);
    check_list("gather", "output", blocks, static_cast<std::size_t>(size_));
    for (const at::Tensor& block : blocks) check_sizes("gather", block, input, 1);
    const at::Tensor flat = scratch(*own, input.scalar_type(), elements_of(blocks), opts.asyncOp);
    own->request.call.out = flat.data_ptr();
    own->ending->outputs = blocks;
    own->unflatten_last(flat, blocks);
  } else {
    TORCH_CHECK(outputs.empty(), "sumac: gather: requires empty output on non-root: only the root, rank ",
                opts.rootRank, ", has outputs");
  }
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::gather_into_tensor(at::Tensor& output, at::Tensor& input,
                                                    const c10d::GatherOptions& opts) {
  check_root("gather_into_tensor", opts.rootRank, size_);
  check_tensor("gather_into_tensor", input);
  auto own = begin(SUMAC_COLL_GATHER, c10d::OpType::GATHER, "sumac:gather", input);
  own->set_root(opts.rootRank);
  own->ending->keeps = {input};
  const at::Tensor in = own->given(input);
  own->set_data(in.data_ptr(), nullptr, bytes_of(in));
  if (opts.rootRank == rank_) {
    check_pair("gather_into_tensor", output, input, size_);
    own->request.call.out = own->taken(output).data_ptr();
    own->ending->outputs = {output};
  }
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                         const c10d::ScatterOptions& opts) {
  check_root("scatter", opts.rootRank, size_);
  const at::Tensor& output = only("scatter", "output", outputs);
  check_tensor("scatter", output);
  auto own = begin(SUMAC_COLL_SCATTER, c10d::OpType::SCATTER, "sumac:scatter", outputs);
  own->set_root(opts.rootRank);
  own->ending->outputs = outputs;
  const at::Tensor out = own->taken(output);
  own->set_data(nullptr, out.data_ptr(), bytes_of(out));
  if (opts.rootRank == rank_) {
    const Tensors& blocks = only("scatter", "input", inputs);
    check_list("scatter", "input", blocks, static_cast<std::size_t>(size_));
    for (const at::Tensor& block : blocks) check_sizes("scatter", block, output, 1);
    const at::Tensor flat = scratch(*own, output.scalar_type(), elements_of(blocks), opts.asyncOp);
    own->flatten(blocks, flat);
    own->ending->keeps = {flat};
    own->request.call.in = flat.data_ptr();
  } else {
    TORCH_CHECK(inputs.empty(), "sumac: scatter: requires empty input on non-root: only the root, rank ", opts.rootRank,
                ", has inputs");
  }
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::alltoall_base(at::Tensor& output, at::Tensor& input, Sizes& output_sizes,
                                               Sizes& input_sizes, const c10d::AllToAllOptions& opts) {
  check_tensor("all_to_all_single", output);
  check_tensor("all_to_all_single", input);
  check_same_type("all_to_all_single", output, input);
  const bool is_even = output_sizes.empty() && input_sizes.empty();
  auto own = begin(is_even ? SUMAC_COLL_ALLTOALL : SUMAC_COLL_ALLTOALLV, c10d::OpType::ALLTOALL_BASE,
                   "sumac:all_to_all", input);
  own->ending->outputs = {output};
  own->ending->keeps = {input};
  const at::Tensor in = own->given(input), out = own->taken(output);
  if (is_even) {
    TORCH_CHECK(input.numel() == output.numel() && (input.dim() == 0 || input.size(0) % size_ == 0),
                "sumac: all_to_all_single: the first dimension, ", input.dim() == 0 ? 0 : input.size(0),
                ", does not divide by the ", size_, " ranks, or the output has another size");
    own->set_data(in.data_ptr(), out.data_ptr(), bytes_of(in) / static_cast<std::size_t>(size_));
    return start(std::move(own), opts.timeout, opts.asyncOp);
  }
  const auto counts_by = [&](const at::Tensor& tensor, const Sizes& sizes) {
    const std::int64_t rows = tensor.dim() == 0 ? 0 : tensor.size(0);
    const std::int64_t row = rows == 0 ? 0 : tensor.numel() / rows;
    const Sizes even(static_cast<std::size_t>(size_), rows / size_);
    const Sizes& used = sizes.empty() ? even : sizes;
    Sizes counts;
    std::int64_t sum = 0;
    for (const std::int64_t one : used) {
      TORCH_CHECK(one >= 0, "sumac: all_to_all_single: split sizes ", used, ": ", one, " is negative");
      counts.push_back(one * row);
      sum += one;
    }
    TORCH_CHECK(used.size() == static_cast<std::size_t>(size_) && sum == rows, "sumac: all_to_all_single: split sizes ",
                used, " for ", rows, " rows and ", size_, " ranks");
    return counts;
  };
  own->in_counts = counts_by(input, input_sizes);
  own->out_counts = counts_by(output, output_sizes);
  own->unit = input.element_size();
  own->set_data(in.data_ptr(), out.data_ptr(), 0);
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

SumacBackend::Work SumacBackend::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) {
  check_list("all_to_all", "output", outputs, static_cast<std::size_t>(size_));
  check_list("all_to_all", "input", inputs, static_cast<std::size_t>(size_));
  check_same_type("all_to_all", outputs.front(), inputs.front());
  auto own = begin(SUMAC_COLL_ALLTOALLV, c10d::OpType::ALLTOALL, "sumac:all_to_all", inputs);
  const std::int64_t sent = elements_of(inputs), received = elements_of(outputs);
  const at::Tensor flat = scratch(*own, inputs.front().scalar_type(), sent + received, opts.asyncOp);
  const at::Tensor in = flat.narrow(0, 0, sent), out = flat.narrow(0, sent, received);
  own->flatten(inputs, in);
  own->in_counts = counts_of(inputs);
  own->out_counts = counts_of(outputs);
  own->unit = flat.element_size();
  own->ending->outputs = outputs;
  own->set_data(in.data_ptr(), out.data_ptr(), 0);
  own->unflatten_last(out, outputs);
  return start(std::move(own), opts.timeout, opts.asyncOp);
}

// ---- barriers

SumacBackend::Work SumacBackend::barrier(const c10d::BarrierOptions& opts) {
  return start(std::make_unique<Collective>(SUMAC_COLL_BARRIER, c10d::OpType::BARRIER, "sumac:barrier"), opts.timeout,
               opts.asyncOp);
}

}  // namespace sumac::torch_backend
