/* Debian's development headers of Open MPI include this header in ompi/op/op.h but do not ship it. ompi_op_reduce()
 * there uses one macro of it for functions in Fortran; Fortran's INTEGER is C's int there. */
#include "mpi.h"

#ifndef OMPI_INT_2_FINT
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "this Open MPI has a wider INTEGER and needs its own header");
#define OMPI_INT_2_FINT(a) (a)
#endif
