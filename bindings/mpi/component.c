/* The component's entry points for Open MPI. */
#include "hcoll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "opal/util/show_help.h"
#include "rank/served.h"

extern mca_coll_base_component_t mca_coll_hcoll_component;

static int hcoll_register(void) {
  hcoll.version = &mca_coll_hcoll_component.collm_version;
  int* values[HCOLL_PARAMETERS] = {
      [HCOLL_PARAMETER_ENABLE] = &hcoll.enable,
      [HCOLL_PARAMETER_NP] = &hcoll.np,
      [HCOLL_PARAMETER_PRIORITY] = &hcoll.priority,
  };
  for (int i = 0; i < HCOLL_PARAMETERS; ++i) {
    const struct hcoll_parameter* parameter = &hcoll_parameters[i];
    *values[i] = parameter->default_value;
    (void)mca_base_component_var_register(hcoll.version, parameter->name, parameter->doc, MCA_BASE_VAR_TYPE_INT, NULL,
                                          0, 0, (mca_base_var_info_lvl_t)(OPAL_INFO_LVL_1 + parameter->level - 1),
                                          MCA_BASE_VAR_SCOPE_READONLY, values[i]);
  }
  return OMPI_SUCCESS;
}

static bool serves_this_release(void) {
  char running[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  (void)PMPI_Get_library_version(running, &length);
  const bool serves = hcoll_series_serves(running);
  if (!serves && hcoll_speaks_for_host()) {
    SUMAC_SAY("this component was built for Open MPI " HCOLL_BUILT_FOR
              " and does nothing in \"%.*s\": build it for that one (make component MPI=/prefix)",
              (int)strcspn(running, ","), running);
  }
  return serves;
}

/* Read by rank/served.cpp. */
__attribute__((visibility("default"))) char sumac_mpi_component_serves = 0;

/* The interposed library comes before us and would leave us only the calls that it makes itself. */
static bool stands_aside(void) {
  const char* by = sumac_served_by();
  if (NULL == by) {
    return false;
  }
  const char* explain = getenv("SUMAC_EXPLAIN");
  if (0 == OMPI_PROC_MY_NAME->vpid && NULL != explain && 0 != strcmp(explain, "0")) {
    fprintf(stderr, "sumac: Open MPI's component stands aside: %s\n", by);
  }
  return true;
}

static int hcoll_open(void) {
  hcoll.enable = hcoll.enable && !stands_aside();
  if (!hcoll.enable) {
    return OMPI_SUCCESS; /* as if the component were absent: it reads, publishes and prints nothing */
  }
  const unsigned rank = (unsigned)OMPI_PROC_MY_NAME->vpid;
  sumac_say_as(ompi_process_info.nodename, rank);
  sumac_say_warnings(hcoll_is_asked_for());
  if (!serves_this_release() || !sumac_process_read(&hcoll.process, hcoll_speaks_for_host(), 0 == rank)) {
    return OMPI_ERR_BAD_PARAM;
  }
  if (!hcoll_on()) {
    return OMPI_SUCCESS; /* the same, by SUMAC_ENABLE=0 */
  }
  sumac_mpi_component_serves = ompi_process_info.num_procs >= (unsigned)hcoll.np;
  hcoll_attach_prepare();
  return hcoll_presence_publish();
}

static int hcoll_close(void) {
  if (hcoll_on()) {
    hcoll_progress_end();
    hcoll_job_end();
    hcoll_presence_forget();
    sumac_process_free(&hcoll.process);
  }
  return OMPI_SUCCESS;
}

static int hcoll_init_query(bool enable_progress_threads, bool enable_mpi_threads) {
  (void)enable_progress_threads;
  (void)enable_mpi_threads;
  return OMPI_SUCCESS;
}

__attribute__((visibility("default"))) mca_coll_base_component_t mca_coll_hcoll_component = {
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
};
