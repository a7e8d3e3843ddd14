#include "team/left.hpp"

#include <algorithm>
#include <string_view>

namespace sumac::team {
namespace {

/// The most usual reduction: a tree that does not take it does not take the collective.
const coll::Fold& usual_fold() {
  static const coll::Fold fold{.element_bytes = sizeof(double),
                               .kernel = reduce::kernel_for(Op::sum, Dtype::float64),
                               .dtype = Dtype::float64,
                               .op = Op::sum};
  return fold;
}

/// Names mostly have one address.
bool is_same(const char* a, const char* b) { return a == b || std::string_view(a) == std::string_view(b); }

}  // namespace

sumac_left why_left(Why why, const coll::Across* tree, const coll::Operation& operation) {
  if (why == Why::disabled) return SUMAC_LEFT_OFF;
  if (why == Why::next_is_faster) return SUMAC_LEFT_FASTER;
  if (why == Why::no_hierarchy || why == Why::too_many_bytes) return SUMAC_LEFT_SIZE;
  const auto kind = started_across(operation.kind);
  const auto* fold = fold_across(operation.kind, operation.fold);
  const auto* usual = fold == nullptr ? nullptr : &usual_fold();
  if (why == Why::scattered || tree == nullptr || !tree->takes(kind, 0, usual)) return SUMAC_LEFT_COLL;
  return tree->takes(kind, 0, fold) ? SUMAC_LEFT_SIZE : SUMAC_LEFT_TYPE;
}

void LeftCalls::note(const coll::Operation& operation, sumac_left why) {
  sumac_left_calls_t one{};
  one.coll = static_cast<std::uint8_t>(operation.kind);
  one.why = static_cast<std::uint8_t>(why);
  one.type_name = one.op_name = "";
  if (const auto* fold = operation.fold; fold != nullptr) {
    const bool is_own = fold->op == Op::null;
    one.type_name = fold->type_name != nullptr ? fold->type_name : is_own ? "a type" : to_string(fold->dtype).data();
    one.op_name = fold->op_name != nullptr ? fold->op_name : is_own ? "an own operation" : to_string(fold->op).data();
  }
  const auto counts_it = [&](const sumac_left_calls_t& each) {
    return each.coll == one.coll && each.why == one.why && is_same(each.type_name, one.type_name) &&
           is_same(each.op_name, one.op_name);
  };
  // A program mostly repeats its call, and waits while this looks.
  auto row = rows_.begin() + static_cast<std::ptrdiff_t>(last_);
  if (row == rows_.end() || !counts_it(*row)) row = std::ranges::find_if(rows_, counts_it);
  if (row == rows_.end()) {
    one.bytes_min = operation.bytes;
    row = rows_.insert(rows_.end(), one);
  }
  last_ = static_cast<std::size_t>(row - rows_.begin());
  ++row->calls;
  row->bytes_min = std::min(row->bytes_min, operation.bytes);
  row->bytes_max = std::max(row->bytes_max, operation.bytes);
}

}  // namespace sumac::team
