#include "bindings/ucc/request.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "bindings/ucc/team.hpp"

namespace sumac::ucc {

void Packed::measure(const ucc_dt_generic* of, void* from, std::size_t elements) {
  type = of;
  buffer = from;
  count = elements;
  memory.clear();
  if (count == 0) return;
  void* const state = type->ops.start_pack(type->context, buffer, count);
  memory.resize(type->ops.packed_size(state));
  type->ops.finish(state);
}

bool Packed::pack() {
  if (memory.empty()) return true;
  void* const state = type->ops.start_pack(type->context, buffer, count);
  std::size_t at = 0;
  while (at < memory.size()) {
    const std::size_t bytes = type->ops.pack(state, at, memory.data() + at, memory.size() - at);
    if (bytes == 0 || bytes > memory.size() - at) break;
    at += bytes;
  }
  type->ops.finish(state);
  return at == memory.size();
}

ucc_status_t Packed::unpack() const {
  if (memory.empty()) return UCC_OK;
  void* const state = type->ops.start_unpack(type->context, buffer, count);
  const ucc_status_t status = type->ops.unpack(state, 0, memory.data(), memory.size());
  type->ops.finish(state);
  return status;
}

/// In place, the data are given where the result is kept. A bcast has one buffer, as a message to other ranks.
client::Outcome<> Request::copy_from_device() {
  const bool is_one_way = type == UCC_COLL_TYPE_BCAST;
  const bool is_root = call.root == team->rank;
  const bool in_place = call.in == nullptr;
  const bool is_same = call.in == call.out;
  const auto& gives = !in_place ? packed_in.pieces : packed_out.pieces;
  auto made = client::cuda::Stage::make((gives.empty() ? packed_out.pieces : gives).front().device);
  if (!made) return tl::unexpected(made.error());
  stage = *std::move(made);
  if (!gives.empty() && !(is_one_way && !is_root)) {
    const auto given = stage->give(gives);
    if (!given) return tl::unexpected(given.error());
    if (in_place || is_same) call.out = given->data();
    if (!in_place) call.in = given->data();
    for (auto is_there = stage->advance(); !is_there || !*is_there; is_there = stage->advance()) {
      if (!is_there) return tl::unexpected(is_there.error());
      ::sched_yield();
    }
  }
  if (packed_out.pieces.empty() || (is_one_way && is_root)) return {};
  const auto kept = stage->keep(packed_out.pieces, in_place);
  if (!kept) return tl::unexpected(kept.error());
  call.out = kept->data();
  return {};
}

void Request::reset(ucc_team& of) {
  status = UCC_OPERATION_INITIALIZED;
  team = &of;
  op = nullptr;
  way = Way::nowhere;
  result_bytes = 0;
  has_callback = is_persistent = was_posted = divides = copies = unpacks = false;
  call = {};
  limit = Duration::max();
  if (!peers.empty()) peers.clear();
  for (Packed* one : {&packed_in, &packed_out}) {
    one->type = nullptr;
    if (!one->pieces.empty()) one->pieces.clear();
  }
}

void Request::over(ucc_status_t how) noexcept {
  if (!has_more()) return set_status(*this, how);
  outcome.store(how, std::memory_order_relaxed);
  team->context->ended.push(*this);
}

void Request::message_over(ucc_status_t how) noexcept {
  ucc_status_t good = UCC_OK;
  if (how != UCC_OK) outcome.compare_exchange_strong(good, how);
  if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) over(outcome.load());
}

void Request::conclude() {
  ucc_status_t how = outcome.load(std::memory_order_relaxed);
  if (how == UCC_OK) {
    if (divides) divide(datatype, call.out, result_bytes, team->size);
    if (copies) std::memcpy(result, scratch.data(), result_bytes);
    if (unpacks) how = packed_out.unpack();
    if (stage)
      if (const auto done = stage->finish(); !done) how = refuse(UCC_ERR_NO_RESOURCE, done.error().text);
  }
  stage.reset();
  // From here on the program may finalize the request, also in the callback.
  const ucc_coll_callback_t then = callback;
  const bool calls = has_callback;
  set_status(*this, how);
  if (calls) then.cb(then.data, how);
}

Request* Requests::take() {
  const auto held = hold();
  if (spare_.empty()) {
    all_.push_back(std::make_unique<Request>());
    spare_.reserve(all_.size());
    return all_.back().get();
  }
  Request* const request = spare_.back();
  spare_.pop_back();
  return request;
}

void Requests::give_back(Request* request) {
  const auto held = hold();
  spare_.push_back(request);
}

bool Requests::has_open_messages() {
  const auto held = hold();
  return std::any_of(all_.begin(), all_.end(), [](const auto& one) {
    return one->way == Request::Way::messages && get_status(*one) == UCC_INPROGRESS;
  });
}

void Requests::close() {
  const auto held = hold();
  for (auto& one : all_) {
    one->op = nullptr;
    one->messages.clear();
    for (auto* memory : {&one->scratch, &one->packed_in.memory, &one->packed_out.memory}) *memory = {};
    one->stage.reset();
  }
}

void Requests::watch(Request& request) {
  const auto held = hold();
  request.deadline = deadline_after(monotonic_now(), request.limit);
  if (std::find(watched_.begin(), watched_.end(), &request) == watched_.end()) watched_.push_back(&request);
  watched_count_ = static_cast<int>(watched_.size());
}

void Requests::forget(const Request& request) {
  const auto held = hold();
  std::erase(watched_, &request);
  watched_count_ = static_cast<int>(watched_.size());
}

void Requests::end_some() {
  constexpr Duration kLookAfter = Millis{20};  // A look reads a file of /proc for each rank that is waited for.
  const auto held = hold();
  std::erase_if(watched_, [](const Request* one) { return get_status(*one) != UCC_INPROGRESS; });
  watched_count_ = static_cast<int>(watched_.size());
  const Time now = monotonic_now();
  const bool looks = now - looked_ > kLookAfter;
  if (looks) looked_ = now;
  for (Request* one : watched_) {
    if (now >= one->deadline) {
      const std::string why = fmt::format("timed out after {} ms: {} of team {} at rank {}",
                                          std::chrono::duration_cast<Millis>(one->limit).count(), name_of(one->type),
                                          one->team->number, one->team->rank);
      if (one->way == Request::Way::team) return sumac_team_break(one->team->team, why.c_str());
      one->withdraw([](const p2p::Message&) { return true; }, {Errc::timeout, why});
    } else if (looks && one->way == Request::Way::messages) {
      one->end_with_the_dead();
    }
  }
}

void Request::withdraw(const std::function<bool(const p2p::Message&)>& which, const Error& why) {
  for (const auto& message : messages)
    if (!message->is_done() && which(*message)) team->peers->withdraw(message, why);
}

void Request::end_with_the_dead() {
  auto& from = *team->peers;
  for (const int peer : peers) {
    if (!from.is_dead(peer)) continue;
    while (from.progress()) continue;  // It may have sent all before it died.
    withdraw(
        [&](const p2p::Message& one) { return one.asked == peer; },
        {Errc::lost, fmt::format("{} died: {} of team {}", from.members().name(peer), name_of(type), team->number)});
  }
}

}  // namespace sumac::ucc
