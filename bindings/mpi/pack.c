/* Packs data of a derived type into our memory and unpacks it again, by Open MPI's convertor. */
#include "plan.h"

#include "opal/datatype/opal_convertor.h"

/* `bytes` is the size of `count` elements; MPI_BOTTOM (NULL) is a legal `user`. */
static void convert(bool into_ours, char* user, size_t count, ompi_datatype_t* type, char* ours, size_t bytes) {
  if (0 == bytes) {
    return;
  }
  opal_convertor_t convertor;
  OBJ_CONSTRUCT(&convertor, opal_convertor_t);
  if (into_ours) {
    (void)opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, user, 0, &convertor);
  } else {
    (void)opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count, user, 0, &convertor);
  }
  size_t done = 0;
  int32_t complete = 0;
  while (!complete && done < bytes) {
    struct iovec piece = {.iov_base = ours + done, .iov_len = bytes - done};
    uint32_t pieces = 1;
    size_t moved = bytes - done;
    complete = into_ours ? opal_convertor_pack(&convertor, &piece, &pieces, &moved)
                         : opal_convertor_unpack(&convertor, &piece, &pieces, &moved);
    if (complete < 0 || 0 == moved) {
      break; /* the convertor has reached the end of the type */
    }
    done += moved;
  }
  OBJ_DESTRUCT(&convertor);
}

static void convert_side(bool into_ours, const struct hcoll_plan* plan, const struct hcoll_side* side) {
  char* ours = hcoll_plan_packed(plan, side);
  size_t size = side->type->super.size;
  if (NULL == side->counts) {
    convert(into_ours, side->user, side->count, side->type, ours, side->count * size);
    return;
  }
  ptrdiff_t extent = side->type->super.ub - side->type->super.lb;
  for (int i = 0; i < side->blocks; ++i) {
    size_t count = (size_t)side->counts[i];
    convert(into_ours, side->user + side->displacements[i] * extent, count, side->type, ours, count * size);
    ours += count * size;
  }
}

/* Copies the data alone: the holes of the user's buffer are the user's, and ours have nothing in them. */
static void copy_data(const struct hcoll_side* side, char* to, char* from) {
  (void)ompi_datatype_copy_content_same_ddt(side->type, side->count, to, from);
}

/* Returns the address that Open MPI knows packed elements by: their data begin true_lb bytes behind it. */
static char* elements_of(const struct hcoll_plan* plan, const struct hcoll_side* side) {
  return hcoll_plan_packed(plan, side) - plan->own.true_lb;
}

void hcoll_plan_pack(const struct hcoll_plan* plan) {
  if (plan->send.is_packed && plan->keeps_extent) {
    copy_data(&plan->send, elements_of(plan, &plan->send), plan->send.user);
  } else if (plan->send.is_packed) {
    convert_side(true, plan, &plan->send);
  }
}

void hcoll_plan_unpack(const struct hcoll_plan* plan) {
  if (plan->receive.is_packed && plan->keeps_extent) {
    copy_data(&plan->receive, plan->receive.user, elements_of(plan, &plan->receive));
  } else if (plan->receive.is_packed) {
    convert_side(false, plan, &plan->receive);
  }
}
