// Derived types of MPI.
#include "bindings/hcoll/types.hpp"

extern "C" {

int hcoll_create_mpi_type(void*, hcoll_datatype_t* made) {
  if (made == nullptr) return HCOLL_ERR_BAD_PARAM;
  *made = zero_dte;
  return HCOLL_SUCCESS;
}

int hcoll_dt_destroy(hcoll_datatype_t type) {
  if (type.id == HCOL_DTE_MPI && !HCOL_DTE_IS_INLINE(type)) delete HCOL_DTE_PTR(type);
  return HCOLL_SUCCESS;
}

}  // extern "C"
