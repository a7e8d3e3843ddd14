#include "client/tree/across.hpp"

#include <algorithm>
#include <cstring>

#include "client/tree/pays.hpp"

namespace sumac::client {
namespace {

constexpr bool is_on_tree(coll::Kind kind) { return coll::collective(kind).wire != 0; }

/// The tree identifies a fold by its type and operation; a function of the caller's own has neither.
bool has_form(coll::Kind kind, const coll::Fold* fold) {
  return !coll::collective(kind).reduces || (fold != nullptr && fold->op != Op::null);
}

std::int64_t in_flight_max(const Comm& comm) {
  const auto& shape = comm.shape();
  if (shape.stream_window > 0) return INT64_MAX;
  return static_cast<std::int64_t>(comm.groups()) * shape.osts * shape.payload_per_ost;
}

/// The size of one leader's block of an allgatherv, and of all blocks together. Blocks follow each other in the order
/// of leaders.
struct Gathered {
  std::uint64_t own_from = 0, own = 0, all = 0;
  bool is_even = true;  ///< All blocks have one size.
};

Gathered gathered(const coll::Blocks& blocks, std::uint32_t rank, std::uint32_t size) {
  Gathered found;
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto bytes = blocks.bytes(static_cast<int>(i));
    if (i == rank) found.own_from = found.all, found.own = bytes;
    found.is_even = found.is_even && bytes == blocks.bytes(0);
    found.all += bytes;
  }
  return found;
}

/// A call in the tree's words, without its memory. Blocks have no size yet.
proto::Operation in_trees_words(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) {
  proto::Operation o;
  o.coll = static_cast<wire::Coll>(coll::collective(kind).wire);
  if (fold != nullptr) {
    o.op = fold->op;
    o.dtype = fold->dtype;
    o.tag_dtype = fold->tag;
    o.count = bytes / fold->element_bytes;
  } else if (kind == coll::Kind::bcast) {
    o.dtype = Dtype::uint8;
    o.count = bytes;
  }
  return o;
}

/// Padded with zeros, blocks are added up.
void add_up_blocks(proto::Operation& o, std::size_t bytes) {
  o.coll = wire::Coll::allreduce;
  o.op = Op::bor;
  o.dtype = Dtype::uint8;
  o.count = bytes;
}

}  // namespace

TreeLimits tree_limits(const Comm& comm) {
  TreeLimits limits;
  const auto fabric = ways_of(comm.context().job(), comm.size());
  const std::int64_t in_flight = in_flight_max(comm), one_message = comm.shape().payload_per_ost;
  for (const auto& row : coll::kCollectives) {
    auto& limit = limits[index_of(row.kind)];
    limit = is_on_tree(row.kind) ? cost::tree_limit(fabric, row.kind, one_message, in_flight) : -1;
  }
  return limits;
}

TreeAcross::~TreeAcross() {
  if (comm_ == nullptr) return;
  auto guard = comm_->context().lock();
  if (!in_flight_.empty()) comm_->let_go();
  for (const Request* request : in_flight_) comm_->context().drop_request(const_cast<Request&>(*request));
}

bool TreeAcross::takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept {
  const std::int64_t limit = limits_[index_of(kind)];
  return limit >= 0 && bytes <= static_cast<std::uint64_t>(limit) && has_form(kind, fold);
}

std::string TreeAcross::why_not(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const {
  const std::int64_t limit = limits_[index_of(kind)];
  if (limit < 0) return fmt::format("it does no {}", to_string(kind));
  if (!has_form(kind, fold)) return "it has no form of this type and operation";
  if (bytes <= static_cast<std::uint64_t>(limit)) return "";
  const bool is_whole = coll::collective(kind).keeps != coll::Share::vector;
  return fmt::format("of this it carries up to {} bytes{}", limit, is_whole ? " of all blocks together" : "");
}

std::string TreeAcross::no_hop() const {
  if (comm_ == nullptr) return "";
  auto guard = comm_->context().lock();
  return comm_->why_no_hop();
}

std::string TreeAcross::about_hop(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const {
  if (comm_ == nullptr || !takes(kind, bytes, fold)) return "";
  proto::Operation o = in_trees_words(kind, bytes, fold);
  if (kind == coll::Kind::allgatherv) add_up_blocks(o, bytes);  // Small blocks are.
  if (fold != nullptr)
    o.count = std::max<std::uint64_t>(1, o.count);  // The smallest size that is asked for is one byte.
  auto guard = comm_->context().lock();
  return comm_->about_hop(o);
}

/// Blocks of one size are sent as they are. Blocks of several sizes, and small ones, are padded with zeros and added
/// up, so that they share messages.
void TreeAcross::gather(const coll::Operation& operation, proto::Operation& o) const {
  const Gathered blocks = gathered(operation.out_blocks, comm_->rank(), comm_->size());
  const std::span out(static_cast<std::byte*>(operation.out), blocks.all);
  o.count = blocks.all;
  o.dst = out;
  if (blocks.is_even && blocks.own >= comm_->shape().payload_per_ost) {
    o.coll = wire::Coll::allgather;
    o.dtype = Dtype::uint8;
    o.give = {blocks.own_from, blocks.own_from + blocks.own};
    o.src = out.subspan(blocks.own_from, blocks.own);
    o.block = blocks.own;
    return;
  }
  std::ranges::fill(out.first(blocks.own_from), std::byte{0});
  std::ranges::fill(out.subspan(blocks.own_from + blocks.own), std::byte{0});
  add_up_blocks(o, blocks.all);
  o.src = out;
}

Reduction TreeAcross::reduction_of(const coll::Operation& operation) const {
  Reduction made;
  auto& o = made.operation;
  o = in_trees_words(operation.kind, operation.bytes, operation.fold);
  o.root = static_cast<std::uint32_t>(operation.root);
  o.meaning = operation.meaning;
  const bool is_root = o.root == comm_->rank();
  const auto* in = static_cast<const std::byte*>(operation.in == nullptr ? operation.out : operation.in);
  auto* out = static_cast<std::byte*>(operation.out);
  switch (operation.kind) {
    case coll::Kind::barrier: return made;
    case coll::Kind::allgatherv: gather(operation, o); break;
    case coll::Kind::bcast:
      (is_root ? o.keep : o.give) = {0, 0};
      if (is_root) o.src = {out, operation.bytes};
      if (!is_root) o.dst = {out, operation.bytes};
      break;
    default:
      o.src = {in, operation.bytes};
      if (operation.kind == coll::Kind::reduce && !is_root)
        o.keep = {0, 0};
      else
        o.dst = {out, operation.bytes};
  }
  const std::uint64_t bytes = operation.kind == coll::Kind::allgatherv ? o.count : operation.bytes;
  o.streaming = comm_->shape().stream_window > 0 && bytes >= comm_->context().job().settings.sat_threshold && bytes > 0;
  return made;
}

coll::Across::Progress TreeAcross::start(const coll::Operation& operation, void*& request) {
  auto guard = comm_->context().lock();
  auto posted = operation.kind == coll::Kind::barrier ? comm_->post_barrier() : comm_->post(reduction_of(operation));
  if (!posted) {
    error_ = fmt::format("{}({}) {}", status_text(posted.error().status), posted.error().status, posted.error().text);
    return Progress::failed;
  }
  in_flight_.push_back(*posted);
  request = *posted;
  return Progress::pending;
}

void TreeAcross::over(Request& request) {
  std::erase(in_flight_, &request);
  comm_->context().drop_request(request);
}

coll::Across::Progress TreeAcross::test(void* handle) {
  const Progress progress = peek(handle);
  if (progress != Progress::pending) return progress;
  comm_->context().look();
  return peek(handle);
}

coll::Across::Progress TreeAcross::peek(void* handle) {
  auto& request = *static_cast<Request*>(handle);
  auto guard = comm_->context().lock();
  if (request.state == Request::State::pending) return Progress::pending;
  const bool is_done = request.state == Request::State::complete;
  if (!is_done)
    error_ = fmt::format("{}({}) {}", status_text(request.status), request.status, request.why ? *request.why : "");
  went_by_hop_ = request.by_hop;
  over(request);
  return is_done ? Progress::done : Progress::failed;
}

void TreeAcross::let_go(void* handle) {
  auto guard = comm_->context().lock();
  comm_->let_go();
  over(*static_cast<Request*>(handle));
}

void TreeAcross::give_up(std::string_view, int dead) {
  if (comm_ == nullptr) return;
  auto guard = comm_->context().lock();
  if (!comm_->end()) comm_->let_go(static_cast<std::uint32_t>(dead));
}

bool TreeAcross::has_lost_member() {
  if (comm_ == nullptr || !in_flight_.empty()) return false;  // The verdict says which of these still end well.
  comm_->context().look();
  auto guard = comm_->context().lock();
  if (!comm_->has_lost_member()) return false;
  error_ = fmt::format("{}({}) {}", status_text(SHARP_COLL_ERROR), static_cast<int>(SHARP_COLL_ERROR), *comm_->end());
  return true;
}

void TreeAcross::cork() {
  if (comm_ == nullptr) return;
  auto guard = comm_->context().lock();
  comm_->context().cork();
}

void TreeAcross::uncork() {
  if (comm_ == nullptr) return;
  auto guard = comm_->context().lock();
  comm_->context().uncork();
}

coll::Across::Sleep TreeAcross::sleep(int us) {
  if (in_flight_.empty()) return Sleep::impossible;
  return comm_->context().sleep(in_flight_, Micros{us}) ? Sleep::test : Sleep::in_vain;
}

}  // namespace sumac::client
