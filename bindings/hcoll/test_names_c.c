#include "bindings/hcoll/test_names.h"

#define ADDRESS(name) (hcoll_any_function) name,
#define DATA(name) &name,
#define TYPE(type) &type,

hcoll_any_function hcoll_functions_of_c(int index);
hcoll_any_function hcoll_functions_of_c(int index) {
  static const hcoll_any_function all[] = {NAMES_OF_FUNCTIONS(ADDRESS) NULL};
  return all[index];
}

const void* hcoll_data_of_c(int index);
const void* hcoll_data_of_c(int index) {
  static const void* const all[] = {NAMES_OF_DATA(DATA) NULL};
  return all[index];
}

/* An MPI keeps such tables. */
dte_data_representation_t* hcoll_types_of_c(int index);
dte_data_representation_t* hcoll_types_of_c(int index) {
  static dte_data_representation_t* const all[] = {ADDRESSES_OF_TYPES(TYPE) NULL};
  return all[index];
}
