/* The persistent collectives of MPI 4: Open MPI 4.1 has them under names of its own, later ones under MPI's. */
#ifndef SUMAC_TESTS_MPI_PERSISTENT_H
#define SUMAC_TESTS_MPI_PERSISTENT_H

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(function) MPIX_##function
#else
#define INIT(function) MPI_##function
#endif

#endif
