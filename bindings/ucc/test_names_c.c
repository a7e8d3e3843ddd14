#include "bindings/ucc/test_names.h"

#define ADDRESS(name) (ucc_any_function) name,

ucc_any_function ucc_functions_of_c(int index);
ucc_any_function ucc_functions_of_c(int index) {
  static const ucc_any_function all[] = {NAMES_OF_FUNCTIONS(ADDRESS) NULL};
  return all[index];
}
