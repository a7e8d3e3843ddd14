#include "rank/fold.h"

#include <limits.h>
#include <string.h>

/* The first operand is kept here where the result takes its place. It has room for the largest element that
 * sumac_fold_custom() lets through, and a processor's first cache has room for it. */
enum { KEPT_BYTES = SUMAC_ELEMENT_BYTES_MAX };

void sumac_fold_by_local(const sumac_fold_t* fold, void* out, const void* a, const void* b, size_t count,
                         sumac_reduce_local_t reduce) {
  const size_t bytes = fold->element_bytes;
  _Alignas(64) char kept[KEPT_BYTES];
  const size_t most = out == a ? KEPT_BYTES / bytes : INT_MAX;
  for (size_t done = 0; done < count;) {
    const size_t now = count - done < most ? count - done : most;
    const char *first = (const char*)a + done * bytes, *second = (const char*)b + done * bytes;
    char* result = (char*)out + done * bytes;
    if (result == first) {
      memcpy(kept, first, now * bytes);
      first = kept;
    }
    if (result != second) {
      memcpy(result, second, now * bytes);
    }
    reduce(fold->context, first, result, (int)now);
    done += now;
  }
}
