#include "rank/fold.h"

#include <algorithm>
#include <climits>
#include <cstring>

/// The first operand is kept where the result takes its place. There is room for the largest element that
/// sumac_fold_custom() lets through, and a processor's first cache has that room.
constexpr std::size_t kKeptBytes = SUMAC_ELEMENT_BYTES_MAX;

void sumac_fold_by_local(const sumac_fold_t* fold, void* out, const void* a, const void* b, std::size_t count,
                         sumac_reduce_local_t reduce) {
  const std::size_t bytes = fold->element_bytes, most = out == a ? kKeptBytes / bytes : INT_MAX;
  alignas(64) char kept[kKeptBytes];
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(count - done, most);
    const char *first = static_cast<const char*>(a) + done * bytes,
               *second = static_cast<const char*>(b) + done * bytes;
    char* result = static_cast<char*>(out) + done * bytes;
    if (result == first) first = static_cast<char*>(std::memcpy(kept, first, now * bytes));
    if (result != second) std::memcpy(result, second, now * bytes);
    reduce(fold->context, first, result, static_cast<int>(now));
    done += now;
  }
}
