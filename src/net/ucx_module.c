#include "net/ucx_functions.h"

#define FUNCTION(name) .name = name,
__attribute__((visibility("default"))) const struct sumac_ucx_functions sumac_net_ucx_functions_v1 = {
    .bytes = sizeof(struct sumac_ucx_functions), SUMAC_UCX_FUNCTIONS(FUNCTION)};
