#pragma once
/* Failures become error codes of the MPI: each reason gets a code of its own in class MPI_ERR_OTHER. MPI_Error_string returns
 * the reason to the program, and MPI_ERRORS_ARE_FATAL prints it. */

#include "rank/record.h"

/** Returns a code whose MPI_Error_string is `words`, cut to the MPI's limit. Codes live until MPI_Finalize: a program that goes
 *  on failing for ever new reasons finally gets MPI_ERR_OTHER. Any thread may call it. */
int sumac_error_code(const sumac_runtime* runtime, const char* words);
/** Returns the text of a code that sumac_error_code() gave; NULL: it is none. */
const char* sumac_error_words(int code);
