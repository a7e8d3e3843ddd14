/* This header is C, because src/rank/worth.c is: it computes the number of collectives that pay for a team over hosts. */
#ifndef SUMAC_COST_WORTH_H
#define SUMAC_COST_WORTH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the number of collectives after which a team over `hosts` hosts has gained what making it costs. */
uint32_t sumac_cost_calls_that_pay(uint32_t hosts);

#ifdef __cplusplus
}
#endif

#endif
