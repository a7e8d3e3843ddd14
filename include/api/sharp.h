/* MVAPICH's MPI and OpenSHMEM programs include the interface by this name. */
#include "../sharp/api/sharp.h"
