/* Checks the layout with a C compiler: a wrong row does not compile. */
/* MVAPICH includes the interface by this name. */
#include <api/sharp_coll.h>
#include <sharp/api/sharp.h>
#include <sharp/api/sumac_ext.h>

#if SHARP_API <= SHARP_VERSION(3, 0)
#error "clients that compare versions in the preprocessor would leave out 8-bit and bfloat16 data"
#endif

#define ROW_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type);
#define ROW_OFFSET(type, field, at) _Static_assert(offsetof(struct type, field) == (at), #type "." #field);
#define ROW_VALUE(name, number) _Static_assert((long)(name) == (number), #name);
#include "test_layout_rows.h"

/* Returns the number of rows, which the C++ side compares with its own. */
int sumac_layout_c_rows(void);
int sumac_layout_c_rows(void) {
#undef ROW_SIZE
#undef ROW_OFFSET
#undef ROW_VALUE
#define ROW_SIZE(type, bytes) +1
#define ROW_OFFSET(type, field, at) +1
#define ROW_VALUE(name, number) +1
  return 0
#include "test_layout_rows.h"
      ;
}
