#include "bindings/python/torch/collective.hpp"

#include <ATen/DeviceAccelerator.h>

#include <cctype>
#include <cstring>

#include "bindings/python/core/folds.hpp"

namespace sumac::torch_backend {
namespace {

/// A complex number is added up as the two real ones that it consists of.
Dtype dtype_of(at::ScalarType type) {
  if (at::isComplexType(type)) type = c10::toRealValueType(type);
  switch (type) {
    case at::kFloat: return Dtype::float32;
    case at::kDouble: return Dtype::float64;
    case at::kHalf: return Dtype::float16;
    case at::kBFloat16: return Dtype::bfloat16;
    case at::kChar: return Dtype::int8;
    case at::kByte:
    case at::kBool: return Dtype::uint8;
    case at::kShort: return Dtype::int16;
    case at::kInt: return Dtype::int32;
    case at::kLong: return Dtype::int64;
    case at::kUInt16: return Dtype::uint16;
    case at::kUInt32: return Dtype::uint32;
    case at::kUInt64: return Dtype::uint64;
    default: return Dtype::null;
  }
}

Element element_of(at::ScalarType type) {
  switch (type) {
    case at::kBool: return Element::boolean;
    case at::kComplexHalf: return Element::complex32;
    case at::kComplexFloat: return Element::complex64;
    case at::kComplexDouble: return Element::complex128;
    default: break;
  }
  if (const Dtype dtype = dtype_of(type); dtype != Dtype::null) return sumac::element_of(dtype);
  // Not by PyTorch's constants, of which each version has others: "Float8_e4m3fn".
  std::string name = c10::toString(type);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return element_named(name);
}

/// A bool is a byte that is 0 or 1, and stays one.
Op op_of(c10d::ReduceOp::RedOpType op, bool is_bool) {
  switch (op) {
    case c10d::ReduceOp::SUM: return is_bool ? Op::bor : Op::sum;
    case c10d::ReduceOp::AVG: return is_bool ? Op::null : Op::sum;
    case c10d::ReduceOp::PRODUCT: return is_bool ? Op::band : Op::prod;
    case c10d::ReduceOp::MIN: return is_bool ? Op::band : Op::min;
    case c10d::ReduceOp::MAX: return is_bool ? Op::bor : Op::max;
    case c10d::ReduceOp::BAND: return Op::band;
    case c10d::ReduceOp::BOR: return Op::bor;
    case c10d::ReduceOp::BXOR: return Op::bxor;
    default: return Op::null;
  }
}

const char* name_of(c10d::ReduceOp::RedOpType op) {
  constexpr const char* kNames[] = {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM"};
  return op < std::size(kNames) ? kNames[op] : "this operation";
}

/// PyTorch divides no tensors of the larger unsigned types, so AVG must be refused before their sum overwrites the input.
bool is_divided_by_torch(at::ScalarType type) {
  return type != at::kUInt16 && type != at::kUInt32 && type != at::kUInt64 && type != at::kComplexHalf;
}

}  // namespace

void Collective::set_meaning(at::ScalarType elements, Op op, bool is_mean) {
  request.call.meaning =
      Meaning{.kind = request.call.coll, .op = op, .is_mean = is_mean, .element = element_of(elements)}.packed();
}

void Collective::set_root(std::int64_t root) { request.call.root = static_cast<int>(root); }

void Collective::set_fold(const at::Tensor& result, const c10d::ReduceOp& op, int size) {
  const bool is_bool = result.scalar_type() == at::kBool;
  const Dtype dtype = dtype_of(result.scalar_type());
  const Op own = op_of(op, is_bool);
  const bool is_complex = at::isComplexType(result.scalar_type());
  request.call.fold = is_complex && own != Op::sum ? nullptr : python::fold_of(dtype, own);
  TORCH_CHECK(request.call.fold != nullptr, "sumac: ", without_prefix(title), ": ", name_of(op), " of ",
              result.scalar_type(), " is not defined");
  TORCH_CHECK(op != c10d::ReduceOp::AVG || is_divided_by_torch(result.scalar_type()), "sumac: ", without_prefix(title),
              ": AVG of ", result.scalar_type(),
              " is not defined, because PyTorch does not divide this type: use SUM, or convert the tensor to ",
              is_complex ? "torch.complex64" : "torch.int64");
  set_meaning(result.scalar_type(), own, op == c10d::ReduceOp::AVG);
  if (op != c10d::ReduceOp::AVG) return;
  ending->divide = [result, size]() mutable {
    const c10::InferenceMode as_made(result.is_inference());
    if (at::isFloatingType(result.scalar_type()) || at::isComplexType(result.scalar_type()))
      result.div_(size);
    else
      result.div_(size, "trunc");
  };
}

at::Tensor Collective::given(const at::Tensor& tensor) {
  if (!ending->stage || tensor.numel() == 0) return tensor;
  const at::Tensor host = ending->stage->host(static_cast<std::int64_t>(bytes_of(tensor))).view(tensor.scalar_type());
  flatten(flat_view(tensor), host);
  ending->keeps.push_back(host);
  return host;
}

at::Tensor Collective::taken(const at::Tensor& tensor) {
  if (!ending->stage || tensor.numel() == 0) return tensor;
  const at::Tensor host = ending->stage->host(static_cast<std::int64_t>(bytes_of(tensor))).view(tensor.scalar_type());
  unflatten_last(host, flat_view(tensor));
  return host;
}

at::Tensor Collective::changed(const at::Tensor& tensor) {
  const at::Tensor host = given(tensor);
  if (!host.is_same(tensor)) unflatten_last(host, flat_view(tensor));
  return host;
}

void Collective::flatten(c10::ArrayRef<at::Tensor> tensors, const at::Tensor& flat) {
  const at::NoGradGuard no_grad;
  const c10::OptionalStreamGuard on_stage(ending->stream());
  std::int64_t at = 0;
  for (const at::Tensor& tensor : tensors) {
    flat.narrow(0, at, tensor.numel()).view(tensor.sizes()).copy_(tensor, ending->stage != nullptr);
    if (ending->stage) ending->stage->hold(tensor);
    at += tensor.numel();
  }
}

void Collective::unflatten_last(const at::Tensor& flat, c10::ArrayRef<at::Tensor> tensors) {
  if (ending->stage)
    for (const at::Tensor& tensor : tensors) ending->stage->hold(tensor);
  ending->last = [flat, tensors = tensors.vec(), is_staged = ending->stage != nullptr] {
    std::int64_t at = 0;
    for (const at::Tensor& tensor : tensors) {
      if (at == flat.numel()) at = 0;
      // A tensor made in inference mode may be changed in that mode only, and this thread has modes of its own.
      const c10::InferenceMode as_made(tensor.is_inference());
      at::Tensor target = tensor;
      target.copy_(flat.narrow(0, at, tensor.numel()).view(tensor.sizes()), is_staged);
      at += tensor.numel();
    }
  };
}

void Collective::bind() {
  if (!in_counts.empty()) in_at_ = python::describe(request.call.in_blocks, in_counts, unit);
  if (!out_counts.empty()) out_at_ = python::describe(request.call.out_blocks, out_counts, unit);
}

at::Tensor flat_view(const at::Tensor& tensor) {
  return tensor.is_contiguous() ? tensor.view({-1}) : tensor.as_strided({tensor.numel()}, {1});
}

}  // namespace sumac::torch_backend
