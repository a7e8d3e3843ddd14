#include "base/types.hpp"

namespace sumac {

std::string_view to_string(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::uint32: return "uint32";
    case Dtype::int32: return "int32";
    case Dtype::uint64: return "uint64";
    case Dtype::int64: return "int64";
    case Dtype::float32: return "float32";
    case Dtype::float64: return "float64";
    case Dtype::uint16: return "uint16";
    case Dtype::int16: return "int16";
    case Dtype::float16: return "float16";
    case Dtype::bfloat16: return "bfloat16";
    case Dtype::uint8: return "uint8";
    case Dtype::int8: return "int8";
    case Dtype::null: return "null";
  }
  return "?";
}

std::string_view to_string(Op op) noexcept {
  switch (op) {
    case Op::max: return "max";
    case Op::min: return "min";
    case Op::sum: return "sum";
    case Op::prod: return "prod";
    case Op::land: return "land";
    case Op::band: return "band";
    case Op::lor: return "lor";
    case Op::bor: return "bor";
    case Op::lxor: return "lxor";
    case Op::bxor: return "bxor";
    case Op::maxloc: return "maxloc";
    case Op::minloc: return "minloc";
    case Op::null: return "null";
  }
  return "?";
}

}  // namespace sumac
