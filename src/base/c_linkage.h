#pragma once
/* Declarations between SUMAC_C_BEGIN and SUMAC_C_END have the linkage of C, also where C++ includes them. */
#ifdef __cplusplus
#define SUMAC_C_BEGIN extern "C" {
#define SUMAC_C_END }
#else
#define SUMAC_C_BEGIN
#define SUMAC_C_END
#endif
