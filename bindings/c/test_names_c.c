#include "bindings/c/test_names.h"

typedef void (*any_function)(void);
#define ADDRESS(name) (any_function) name,

any_function sumac_team_functions_of_c(int index);
any_function sumac_team_functions_of_c(int index) {
  static const any_function all[] = {NAMES_OF_FUNCTIONS(ADDRESS) NULL};
  return all[index];
}

size_t sumac_team_params_bytes_of_c(void);
size_t sumac_team_params_bytes_of_c(void) { return sizeof(struct sumac_team_params); }
