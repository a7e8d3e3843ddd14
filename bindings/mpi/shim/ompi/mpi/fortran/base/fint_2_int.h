/* Debian's development headers of Open MPI include this header in ompi/op/op.h but do not ship it. An inline
 * function there, which we never call, uses one macro of it; Debian's Fortran INTEGER is C's int. */
#ifndef OMPI_INT_2_FINT
#define OMPI_INT_2_FINT(a) (a)
#endif
