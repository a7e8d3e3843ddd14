/* The component's entry points for Open MPI. */
#include "hcoll.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "opal/util/show_help.h"

static int hcoll_register(void) {
  int* values[HCOLL_PARAMETERS] = {
      [HCOLL_PARAMETER_ENABLE] = &mca_coll_hcoll_component.enable,
      [HCOLL_PARAMETER_NP] = &mca_coll_hcoll_component.np,
      [HCOLL_PARAMETER_PRIORITY] = &mca_coll_hcoll_component.priority,
  };
  for (int i = 0; i < HCOLL_PARAMETERS; ++i) {
    const struct hcoll_parameter* parameter = &hcoll_parameters[i];
    *values[i] = parameter->default_value;
    (void)mca_base_component_var_register(
        &mca_coll_hcoll_component.super.collm_version, parameter->name, parameter->doc, MCA_BASE_VAR_TYPE_INT, NULL, 0,
        0, (mca_base_var_info_lvl_t)(OPAL_INFO_LVL_1 + parameter->level - 1), MCA_BASE_VAR_SCOPE_READONLY, values[i]);
  }
  return OMPI_SUCCESS;
}

static void say_warning(const char* sentence) {
  if (sumac_say_warns()) {
    SUMAC_SAY("warning: %s", sentence);
  }
}

/* Only rank 0 prints warnings, for all ranks. */
static void check_environment(void) {
  if (0 == OMPI_PROC_MY_NAME->vpid) {
    hcoll_settings_check(say_warning, sumac_team_variable);
    sumac_team_options_check(say_warning);
  }
}

/* All ranks of a host mostly have the same environment, so one of them reports what is wrong with it. The parts of
 * `mpirun -n 2 a : -n 2 b` may have different ones: then every rank reports. */
bool hcoll_speaks_for_host(void) {
  const char* programs = getenv("OMPI_NUM_APP_CTX");
  return 0 == ompi_process_info.my_local_rank || (NULL != programs && 0 != strcmp(programs, "1"));
}

static int refuse(const char* why) {
  if (hcoll_speaks_for_host()) {
    SUMAC_SAY("%s", why);
  }
  return OMPI_ERR_BAD_PARAM;
}

static int refuse_other_release(void) {
  char running[MPI_MAX_LIBRARY_VERSION_STRING] = "", why[512];
  int length = 0;
  (void)PMPI_Get_library_version(running, &length);
  if (hcoll_series_serves(running)) {
    return OMPI_SUCCESS;
  }
  snprintf(why, sizeof(why),
           "this component was built for Open MPI " HCOLL_BUILT_FOR
           " and does nothing in \"%.*s\": build it for that one (make component MPI=/prefix)",
           (int)strcspn(running, ","), running);
  return refuse(why);
}

static int read_team_options(void) {
  char why[512] = "";
  int status = sumac_team_options_read(&mca_coll_hcoll_component.options, why, sizeof(why));
  if (SUMAC_TEAM_OK != status) {
    return refuse(why);
  }
  if ('\0' != why[0] && 0 == OMPI_PROC_MY_NAME->vpid) {
    say_warning(why);
  }
  return OMPI_SUCCESS;
}

/* The interposed library serves every communicator of its process: it comes before us and would leave us only the calls
 * that it makes itself. */
static bool stands_aside(void) {
  if (NULL == dlsym(RTLD_DEFAULT, "sumac_mpi_interposed")) {
    return false;
  }
  const char* explain = getenv("SUMAC_EXPLAIN");
  if (0 == OMPI_PROC_MY_NAME->vpid && NULL != explain && 0 != strcmp(explain, "0")) {
    fprintf(
        stderr,
        "sumac: Open MPI's component stands aside: the interposed library is loaded and serves all communicators\n");
  }
  return true;
}

static int hcoll_open(void) {
  mca_coll_hcoll_component.enable = mca_coll_hcoll_component.enable && !stands_aside();
  if (!mca_coll_hcoll_component.enable) {
    return OMPI_SUCCESS; /* as if the component were absent: it reads, publishes and prints nothing */
  }
  sumac_say_as(ompi_process_info.nodename, (unsigned)OMPI_PROC_MY_NAME->vpid);
  if (OMPI_SUCCESS != refuse_other_release()) {
    return OMPI_ERR_BAD_PARAM;
  }
  const char* wrong = hcoll_settings_read(&mca_coll_hcoll_component.settings);
  if (NULL != wrong) {
    return refuse(wrong);
  }
  sumac_say_warnings(hcoll_is_asked_for());
  if (!hcoll_on()) {
    return OMPI_SUCCESS; /* the same, by SUMAC_ENABLE=0 */
  }
  int rc = read_team_options();
  if (OMPI_SUCCESS != rc) {
    return rc;
  }
  check_environment();
  return hcoll_presence_publish();
}

static int hcoll_close(void) {
  if (!hcoll_on()) {
    return OMPI_SUCCESS;
  }
  hcoll_progress_end();
  hcoll_job_end();
  hcoll_presence_forget();
  sumac_team_options_free(mca_coll_hcoll_component.options);
  mca_coll_hcoll_component.options = NULL;
  return OMPI_SUCCESS;
}

static int hcoll_init_query(bool enable_progress_threads, bool enable_mpi_threads) {
  (void)enable_progress_threads;
  (void)enable_mpi_threads;
  return OMPI_SUCCESS;
}

__attribute__((visibility("default"))) struct hcoll_component mca_coll_hcoll_component = {
    .super =
        {
            .collm_version =
                {
                    HCOLL_COLL_VERSION,
                    .mca_component_name = "hcoll",
                    MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
                    .mca_open_component = hcoll_open,
                    .mca_close_component = hcoll_close,
                    .mca_register_component_params = hcoll_register,
                },
            .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
            .collm_init_query = hcoll_init_query,
            .collm_comm_query = hcoll_comm_query,
        },
};
