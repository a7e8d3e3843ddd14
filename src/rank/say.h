#pragma once
/* Lines on stderr, in the form that users of HCOLL know: [host:pid:rank][file:line:function] text. */

#include <stdbool.h>

#include "base/c_linkage.h"

SUMAC_C_BEGIN

/** Sets the host's name and the rank in MPI_COMM_WORLD that every line begins with. Call it before the first line.
 *  @param host  Copied; NULL: unknown. */
void sumac_say_as(const char* host, unsigned world_rank);

/** Prints one line. */
void sumac_say(const char* file, int line, const char* function, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
#define SUMAC_SAY(...) sumac_say(__FILE__, __LINE__, __func__, __VA_ARGS__)

/** Warnings are for people who asked for Sumac: with `false` sumac_say_once() and its like print nothing, and whoever
 *  else has a warning asks sumac_say_warns(). Errors are printed all the same. At first they are on. */
void sumac_say_warnings(bool on);
bool sumac_say_warns(void);

/** Prints a warning that holds for many communicators only once in a job: the rank with `by_us` of the first
 *  communicator prints it, and the other ranks call it too. Any thread may call it. */
void sumac_say_once(const char* line, bool by_us);

/** Does the same with each of `lines`, which it cuts at the ends of its lines. */
void sumac_say_each_once(char* lines, bool by_us);

/** Prints a line of a failure, each different one once in a process and 100 at most: a program may repeat a refused call for ever.
 *  Any thread may call it. */
void sumac_say_failure(const char* line);

SUMAC_C_END
