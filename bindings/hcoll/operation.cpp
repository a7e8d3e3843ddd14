#include "bindings/hcoll/operation.hpp"

#include <fmt/format.h>

namespace sumac::hcoll {
namespace {

/// Distinguishes a buffer without elements from one in place, which src/team takes a null pointer for.
std::byte nothing;

bool is_in_place(const void* buffer) noexcept { return buffer == HCOLL_IN_PLACE; }

}  // namespace

void Operation::conclude() const noexcept {
  for (const Packed& one : packed_)
    if (one.is_result) one.layout.unpack(one.memory.get(), one.count, one.buffer);
}

int Operation::invalid(const char* why) const {
  return refuse(HCOLL_ERR_BAD_PARAM, fmt::format("{}: {}", sumac_coll_name(call.coll), why));
}

int Operation::set_root(int root) {
  call.root = root;
  return root < 0 || root >= team->size ? invalid("there is no such root") : HCOLL_SUCCESS;
}

/// A client whose type is not served does the call by itself: there is nothing to tell.
int Operation::read(void* buffer, std::int64_t count, const Dte& type, Use use, void*& at, std::size_t& bytes) {
  if (count < 0) return invalid("a count is negative");
  const auto elements = static_cast<std::size_t>(count);
  const Element element = element_of(type);
  if (element.bytes == 0) return HCOLL_ERR_NOT_SUPPORTED;
  if (__builtin_mul_overflow(elements, element.bytes, &bytes))
    return invalid("a count stands for more bytes than there are");
  at = buffer == nullptr ? &nothing : buffer;
  if (bytes == 0) return HCOLL_SUCCESS;
  // A type may have addresses for displacements.
  if ((buffer == nullptr && element.layout == nullptr) || is_in_place(buffer))
    return invalid("a buffer is NULL, or in place where MPI has no such form");
  if (element.layout == nullptr) return HCOLL_SUCCESS;
  Packed packed{*element.layout, buffer, elements, use != Use::input, std::make_unique<std::byte[]>(bytes)};
  if (use != Use::result) packed.layout.pack(buffer, elements, packed.memory.get());
  at = packed.memory.get();
  packed_.push_back(std::move(packed));
  return HCOLL_SUCCESS;
}

int Operation::read_in(void* buffer, std::int64_t count, const Dte& type, std::size_t& bytes) {
  void* in = nullptr;
  const int status = read(buffer, count, type, Use::input, in, bytes);
  call.in = in;
  return status;
}

int Operation::read_blocks(void* buffer, int* counts, int* displacements, const Dte& type, void*& at,
                           sumac_blocks_t& blocks) {
  const Element element = element_of(type);
  if (element.bytes == 0 || element.layout != nullptr) return HCOLL_ERR_NOT_SUPPORTED;
  if (counts == nullptr || (displacements == nullptr && call.coll != SUMAC_COLL_REDUCE_SCATTER))
    return invalid("counts or displacements are NULL");
  std::int64_t all = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    if (counts[i] < 0) return invalid("a count is negative");
    all += counts[i];
  }
  if (all > 0 && (buffer == nullptr || is_in_place(buffer))) return invalid("a buffer is NULL");
  at = buffer == nullptr ? &nothing : buffer;
  blocks = {counts, displacements, element.bytes, 0};
  return HCOLL_SUCCESS;
}

int Operation::read_whole(void* buffer, int count, const Dte& type, Use use) {
  std::size_t bytes = 0;
  const int status = read(buffer, std::int64_t{count} * team->size, type, use, call.out, bytes);
  call.bytes = bytes / size_;
  is_empty = bytes == 0;
  return status;
}

int Operation::own_block(void* buffer, int count, const Dte& type, Use use) {
  if (is_root() && is_in_place(buffer)) return HCOLL_SUCCESS;
  void* at = nullptr;
  std::size_t bytes = 0;
  const int status = read(buffer, count, type, use, at, bytes);
  if (use == Use::input)
    call.in = at;
  else
    call.out = at;
  if (!is_root()) call.bytes = bytes;
  return status == HCOLL_SUCCESS && bytes != call.bytes ? invalid("the counts differ") : status;
}

int Operation::read_fold(const Dte& type, const hcoll_dte_op_t* op) {
  call.fold = fold_of(type, op);
  const bool depends_on_sign = op != nullptr && (op->id == HCOL_DTE_OP_MAX || op->id == HCOL_DTE_OP_MIN);
  if (type.id == HCOL_DTE_UINT64 && depends_on_sign && library().mistakes_long) return HCOLL_ERR_NOT_SUPPORTED;
  return call.fold == nullptr ? HCOLL_ERR_NOT_SUPPORTED : HCOLL_SUCCESS;
}

int Operation::barrier() {
  call.coll = SUMAC_COLL_BARRIER;
  return HCOLL_SUCCESS;
}

int Operation::bcast(void* buffer, int count, Dte type, int root) {
  call.coll = SUMAC_COLL_BCAST;
  if (const int status = set_root(root); status != HCOLL_SUCCESS) return status;
  const int status = read(buffer, count, type, is_root() ? Use::input : Use::result, call.out, call.bytes);
  is_empty = call.bytes == 0;
  return status;
}

/// Reductions of whole vectors.
int Operation::vector(void* sbuf, void* rbuf, int count, const Dte& type, const hcoll_dte_op_t* op, bool has_result) {
  if (const int status = read_fold(type, op); status != HCOLL_SUCCESS) return status;
  if (has_result)
    if (const int status = read(rbuf, count, type, Use::result, call.out, call.bytes); status != HCOLL_SUCCESS)
      return status;
  if (!has_result || !is_in_place(sbuf))
    if (const int status = read_in(sbuf, count, type, call.bytes); status != HCOLL_SUCCESS) return status;
  is_empty = call.bytes == 0;
  return HCOLL_SUCCESS;
}

int Operation::reduce(void* sbuf, void* rbuf, int count, Dte type, hcoll_dte_op_t* op, int root) {
  call.coll = SUMAC_COLL_REDUCE;
  if (const int status = set_root(root); status != HCOLL_SUCCESS) return status;
  return vector(sbuf, rbuf, count, type, op, is_root());
}

/// In place, the whole vector is in `rbuf`, and the result comes to its beginning.
int Operation::reduce_scatter(void* sbuf, void* rbuf, int* rcounts, Dte type, hcoll_dte_op_t* op) {
  call.coll = SUMAC_COLL_REDUCE_SCATTER;
  void* in = nullptr;
  if (const int status = read_fold(type, op); status != HCOLL_SUCCESS) return status;
  const bool in_place = is_in_place(sbuf);
  if (const int status = read_blocks(in_place ? rbuf : sbuf, rcounts, nullptr, type, in, call.in_blocks);
      status != HCOLL_SUCCESS)
    return status;
  for (std::size_t i = 0; i < size_; ++i) call.bytes += static_cast<std::size_t>(rcounts[i]) * call.in_blocks.unit;
  call.in = in_place ? nullptr : in;
  call.out = rbuf == nullptr ? &nothing : rbuf;
  is_empty = call.bytes == 0;
  const bool has_result = rbuf != nullptr && !is_in_place(rbuf);
  return !has_result && rcounts[team->rank] > 0 ? invalid("rbuf is NULL, or in place") : HCOLL_SUCCESS;
}

int Operation::blocks_of_one_size(void* sbuf, int scount, const Dte& stype, void* rbuf, int rcount, const Dte& rtype) {
  const bool in_place = is_in_place(sbuf);
  if (const int status = read_whole(rbuf, rcount, rtype, in_place ? Use::both : Use::result);
      status != HCOLL_SUCCESS || in_place)
    return status;
  const int blocks = call.coll == SUMAC_COLL_ALLTOALL ? team->size : 1;
  std::size_t bytes = 0;
  const int status = read_in(sbuf, std::int64_t{scount} * blocks, stype, bytes);
  return status == HCOLL_SUCCESS && bytes != call.bytes * static_cast<std::size_t>(blocks)
             ? invalid("the counts differ")
             : status;
}

int Operation::allgatherv(void* sbuf, int scount, Dte stype, void* rbuf, int* rcounts, int* displs, Dte rtype) {
  call.coll = SUMAC_COLL_ALLGATHERV;
  if (const int status = read_blocks(rbuf, rcounts, displs, rtype, call.out, call.out_blocks); status != HCOLL_SUCCESS)
    return status;
  if (is_in_place(sbuf)) return HCOLL_SUCCESS;
  std::size_t bytes = 0;
  const int status = read_in(sbuf, scount, stype, bytes);
  const std::size_t own = static_cast<std::size_t>(rcounts[team->rank]) * call.out_blocks.unit;
  return status == HCOLL_SUCCESS && bytes != own ? invalid("the counts differ") : status;
}

int Operation::alltoallv(void* sbuf, int* scounts, int* sdispls, Dte stype, void* rbuf, int* rcounts, int* rdispls,
                         Dte rtype) {
  call.coll = SUMAC_COLL_ALLTOALLV;
  if (const int status = read_blocks(rbuf, rcounts, rdispls, rtype, call.out, call.out_blocks); status != HCOLL_SUCCESS)
    return status;
  if (is_in_place(sbuf)) {
    call.in_blocks = call.out_blocks;
    return HCOLL_SUCCESS;
  }
  void* in = nullptr;
  const int status = read_blocks(sbuf, scounts, sdispls, stype, in, call.in_blocks);
  call.in = in;
  return status;
}

int Operation::gather(void* sbuf, int scount, Dte stype, void* rbuf, int rcount, Dte rtype, int root) {
  call.coll = SUMAC_COLL_GATHER;
  if (const int status = set_root(root); status != HCOLL_SUCCESS) return status;
  if (is_root())
    if (const int status = read_whole(rbuf, rcount, rtype, is_in_place(sbuf) ? Use::both : Use::result);
        status != HCOLL_SUCCESS)
      return status;
  const int status = own_block(sbuf, scount, stype, Use::input);
  is_empty = call.bytes == 0;
  return status;
}

int Operation::gatherv(void* sbuf, int scount, Dte stype, void* rbuf, int* rcounts, int* displs, Dte rtype, int root) {
  call.coll = SUMAC_COLL_GATHERV;
  if (const int status = set_root(root); status != HCOLL_SUCCESS) return status;
  if (is_root()) {
    if (const int status = read_blocks(rbuf, rcounts, displs, rtype, call.out, call.out_blocks);
        status != HCOLL_SUCCESS)
      return status;
    call.bytes = static_cast<std::size_t>(rcounts[root]) * call.out_blocks.unit;
  }
  return own_block(sbuf, scount, stype, Use::input);
}

int Operation::scatter(void* sbuf, int scount, Dte stype, void* rbuf, int rcount, Dte rtype, int root) {
  call.coll = SUMAC_COLL_SCATTER;
  if (const int status = set_root(root); status != HCOLL_SUCCESS) return status;
  if (is_root()) {
    if (const int status = read_whole(sbuf, scount, stype, Use::input); status != HCOLL_SUCCESS) return status;
    call.in = call.out;  // In place they are the same.
  }
  const int status = own_block(rbuf, rcount, rtype, Use::result);
  is_empty = call.bytes == 0;
  return status;
}

int Operation::scatterv(void* sbuf, int* scounts, int* displs, Dte stype, void* rbuf, int rcount, Dte rtype, int root) {
  call.coll = SUMAC_COLL_SCATTERV;
  if (const int status = set_root(root); status != HCOLL_SUCCESS) return status;
  if (is_root()) {
    if (const int status = read_blocks(sbuf, scounts, displs, stype, call.out, call.in_blocks); status != HCOLL_SUCCESS)
      return status;
    call.in = call.out;  // In place they are the same.
    call.bytes = static_cast<std::size_t>(scounts[root]) * call.in_blocks.unit;
  }
  return own_block(rbuf, rcount, rtype, Use::result);
}

}  // namespace sumac::hcoll
