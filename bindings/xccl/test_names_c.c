#include "bindings/xccl/test_names.h"

#define ADDRESS(name) (xccl_any_function) name,

xccl_any_function xccl_functions_of_c(int index);
xccl_any_function xccl_functions_of_c(int index) {
  static const xccl_any_function all[] = {NAMES_OF_FUNCTIONS(ADDRESS) NULL};
  return all[index];
}
