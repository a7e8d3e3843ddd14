/* Failures become MPI's error codes: each reason gets a code of its own in class MPI_ERR_OTHER. MPI_Error_string
 * returns the reason to the program, and MPI_ERRORS_ARE_FATAL prints it. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "hcoll.h"
#include "ompi/errhandler/errcode.h"
#include "rank/failure.h"

/* One reason mostly holds for many communicators, so it is looked up first. Codes live until MPI_Finalize: a program
 * that goes on failing for ever new reasons finally gets MPI_ERR_OTHER. */
#define REASONS_MAX 32

int hcoll_error_code(const char* words) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct {
    char words[MPI_MAX_ERROR_STRING];
    int code;
  } reasons[REASONS_MAX];
  static int count;
  char text[MPI_MAX_ERROR_STRING];
  snprintf(text, sizeof(text), "%s", words);
  int code = MPI_ERR_OTHER;
  pthread_mutex_lock(&lock);
  int at = 0;
  while (at < count && 0 != strcmp(reasons[at].words, text)) {
    ++at;
  }
  if (at == count && count < REASONS_MAX) {
    memcpy(reasons[at].words, text, sizeof(text));
    reasons[at].code = ompi_mpi_errcode_add(MPI_ERR_OTHER);
    (void)ompi_mpi_errnum_add_string(reasons[at].code, text, (int)sizeof(text));
    ++count;
  }
  if (at < count) {
    code = reasons[at].code;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

int hcoll_failed(hcoll_lane_t* lane, enum sumac_coll coll, int status) {
  hcoll_module_t* module = lane->module;
  if (SUMAC_TEAM_NO_MEMORY == status) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  return hcoll_error_code(sumac_team_failure(lane->team, coll, module->rank, module->comm->c_name, &module->broken));
}
