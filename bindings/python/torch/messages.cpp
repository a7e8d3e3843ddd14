// Messages between two ranks, and the barrier that is made of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bindings/python/torch/backend.hpp"
#include "bindings/python/torch/checks.hpp"
#include "bindings/python/torch/collective.hpp"

namespace sumac::torch_backend {
namespace {

/// Tags of our own, which no caller has: those are not negative.
constexpr std::uint32_t kOwnTags = 0x80000000U;

}  // namespace

/// Rank 0 hears of each rank by a message of its own, so that it can name all that do not come, and the group stays usable.
void SumacBackend::monitoredBarrier(const c10d::BarrierOptions& opts, bool waits_for_all) {
  stager_.drain();
  // Here 0 is a time, and not the group's own limit.
  const Duration within = opts.timeout == c10d::kUnsetTimeout ? Duration(timeout_) : Duration(opts.timeout);
  const std::uint32_t tag = kOwnTags | (barriers_++ & ~kOwnTags);
  const auto waited_ms = std::chrono::duration_cast<std::chrono::milliseconds>(within).count();
  if (within <= Duration{0})
    raise({Errc::timeout, fmt::format("[Rank {0}]: Rank {0} timed out in monitoredBarrier after 0 ms", rank_)});
  char word = 0;
  if (rank_ != 0) {
    const auto there = team_->send(0, tag, &word, 1, within, nullptr);
    const auto answer = team_->receive(0, tag, &word, 1, within, nullptr);
    auto waited = team_->wait(*there, Duration::max());
    if (waited) waited = team_->wait(*answer, Duration::max());
    team_->withdraw(there);
    team_->withdraw(answer);
    if (!waited)
      raise({waited.error().code,
             fmt::format(
                 "[Rank {0}]: Rank {0} successfully reached monitoredBarrier, but received errors while waiting for "
                 "send/recv from rank 0, which did not answer in {1} ms: its log names the rank that failed ({2})",
                 rank_, waited_ms, waited.error().context)});
    return;
  }
  std::vector<char> words(static_cast<std::size_t>(size_));
  std::vector<std::shared_ptr<p2p::Message>> messages;
  for (int rank = 1; rank < size_; ++rank)
    messages.push_back(team_->receive(rank, tag, &words[static_cast<std::size_t>(rank)], 1, within, nullptr));
  std::vector<int> failed;
  for (int rank = 1; rank < size_ && (waits_for_all || failed.empty()); ++rank)
    if (!team_->wait(*messages[static_cast<std::size_t>(rank - 1)], Duration::max())) failed.push_back(rank);
  for (const auto& message : messages) team_->withdraw(message);
  if (!failed.empty())
    raise({Errc::timeout, fmt::format("[Rank 0]: {} {} failed to pass monitoredBarrier in {} ms: {}",
                                      failed.size() == 1 ? "Rank" : "Ranks", fmt::join(failed, ", "), waited_ms,
                                      team_->members().named(failed))});
  for (int rank = 1; rank < size_; ++rank)
    if (auto sent = team_->wait(*team_->send(rank, tag, &word, 1, within, nullptr), Duration::max()); !sent)
      raise(sent.error());
}

SumacBackend::Work SumacBackend::send(Tensors& tensors, int to, int tag) {
  const at::Tensor& tensor = only("send", "", tensors);
  check_tensor("send", tensor, true);
  TORCH_CHECK(tag >= 0, "sumac: send: tag ", tag, " is negative");
  const auto own = begin(SUMAC_COLL_BARRIER, c10d::OpType::SEND, "sumac:send", tensors);
  const std::shared_ptr<Ending> ending = own->ending;
  ending->keeps = tensors;
  const at::Tensor host = own->given(tensor);
  auto work = c10::make_intrusive<TeamWork>(team_, ending, c10d::OpType::SEND, "sumac:send", tensors);
  const auto post = [team = team_, host, to, tag, within = timeout_](std::function<void(const Error*)> then) {
    return team->send(to, static_cast<std::uint32_t>(tag), host.data_ptr(), bytes_of(host), within, std::move(then));
  };
  if (ending->stage) {
    work->follow(when_staged(ending, post));
  } else {
    stager_.drain();
    work->message = post([ending](const Error* why) { ending->end(why); });
    work->follow(work->message);
  }
  return remember(work);
}

SumacBackend::Work SumacBackend::receive(Tensors& tensors, int from, int tag, c10d::OpType type) {
  const at::Tensor& tensor = only("recv", "", tensors);
  check_tensor("recv", tensor, true);
  TORCH_CHECK(tag >= 0, "sumac: recv: tag ", tag, " is negative");
  const char* title = type == c10d::OpType::RECV ? "sumac:recv" : "sumac:recvAnySource";
  const auto own = begin(SUMAC_COLL_BARRIER, type, title, tensors);
  const std::shared_ptr<Ending> ending = own->ending;
  ending->outputs = tensors;
  const at::Tensor host = own->taken(tensor);
  auto work = c10::make_intrusive<TeamWork>(team_, ending, type, title, tensors);
  work->message = team_->receive(from, static_cast<std::uint32_t>(tag), host.data_ptr(), bytes_of(host), timeout_,
                                 [ending](const Error* why) { ending->end(why); });
  work->follow(work->message);
  return remember(work);
}

SumacBackend::Work SumacBackend::recv(Tensors& tensors, int from, int tag) {
  TORCH_CHECK(from >= 0 && from < size_, "sumac: recv: rank ", from, " of ", size_, " ranks");
  return receive(tensors, from, tag, c10d::OpType::RECV);
}

SumacBackend::Work SumacBackend::recvAnysource(Tensors& tensors, int tag) {
  return receive(tensors, p2p::Message::kAnyone, tag, c10d::OpType::RECVANYSOURCE);
}

}  // namespace sumac::torch_backend
