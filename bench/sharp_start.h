/* Our measuring clients of libsharp_coll start with this: MPI starts the ranks and serves the library's out-of-band callbacks. */
#ifndef SUMAC_BENCH_SHARP_START_H
#define SUMAC_BENCH_SHARP_START_H

#include <sharp/api/sharp_coll.h>
#include <stddef.h>

/** A job of all ranks of MPI_COMM_WORLD. @return a code of the library. */
int sharp_start(struct sharp_coll_context** context);
/** A group of all of them. */
int sharp_group(struct sharp_coll_context* context, struct sharp_coll_comm** comm);

struct sharp_coll_data_desc sharp_describe(void* buffer, size_t bytes);

#endif
