#pragma once
/* The variables of all bindings, and the component's parameters. A table of settings.cpp declares each one once: its
 * name, default, parser and meaning. docs/reference.md is written from the same tables. */

#include <stddef.h>
#include <stdint.h>

#include "base/c_linkage.h"

SUMAC_C_BEGIN

/** HCOLL_ENABLE_SHARP, and its promise if something is missing. */
enum hcoll_level {
  HCOLL_OFF = 0,        /* no tree: no job, no message of libsharp_coll. Shared memory does not depend on it */
  HCOLL_PROBE = 1,      /* use the tree if it is there */
  HCOLL_FORCE = 2,      /* the job must be there; a communicator without a group goes on without */
  HCOLL_FORCE_COMM = 3, /* every communicator must have a group, or the job ends */
  HCOLL_FORCE_ALL = 4   /* as 3, and every supported collective whatever its size */
};

struct hcoll_settings {
  int enable;    /* SUMAC_ENABLE */
  int level;     /* enum hcoll_level */
  int hosts_min; /* HCOLL_SHARP_NP */
  int polls;     /* HCOLL_SHARP_UPROGRESS_NUM_POLLS */
  int64_t
      allreduce_bytes_max; /* HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX; -1: group OSTs x payload, no limit with streaming */
  const char* devices;     /* HCOLL_MAIN_IB; the environment's own memory */
  int progress_thread;     /* SUMAC_PROGRESS_THREAD */
  int team_after;          /* SUMAC_TEAM_AFTER; -1: auto */
  int64_t timeout_ms;      /* SUMAC_TIMEOUT; 0: none */
  int own_network;         /* SUMAC_ACROSS=p2p */
  int profile;             /* SUMAC_PROFILE */
  int last_line;           /* SUMAC_LAST_LINE; -1: auto */
  const char* trace;       /* SUMAC_TRACE; NULL: no trace. The environment's own memory */
};

#ifdef __cplusplus
/** One environment variable. */
struct hcoll_variable {
  const char *name, *alias;
  const char* default_text; /* the value if it is unset */
  const char* legal;
  const char* doc;
  /* Stores the value in `settings`. Returns false if `text` is not legal. */
  bool (*read)(const hcoll_variable& variable, const char* text, hcoll_settings& settings);
  int low, high;
};
extern const struct hcoll_variable hcoll_variables[];
extern const size_t hcoll_variable_count;
#endif

/** One MCA parameter: `--mca coll_hcoll_<name>`. */
struct hcoll_parameter {
  const char* name;
  int default_value;
  int level; /* ompi_info's level: 1 for everybody to 9 for developers */
  const char* doc;
};
enum hcoll_parameter_index { HCOLL_PARAMETER_ENABLE, HCOLL_PARAMETER_NP, HCOLL_PARAMETER_PRIORITY, HCOLL_PARAMETERS };
extern const struct hcoll_parameter hcoll_parameters[HCOLL_PARAMETERS];

/** Reads the table's variables from the environment. Returns NULL, or one sentence that names the variable and its
 *  legal values. With SUMAC_ENABLE=0 only `enable` is set: a binding that is switched off objects to no other value. */
const char* hcoll_settings_read(struct hcoll_settings* settings);

/** True if this process's environment asks for Sumac: it has a variable that begins with SUMAC_, HCOLL_ or, as `mpirun
 *  --mca coll_hcoll_...` and `sumac run` set it, OMPI_MCA_coll_hcoll_. A program that finds the component only because it is
 *  installed has none, and sees nothing of it on stderr. */
int hcoll_is_asked_for(void);

/** Calls `say` for every HCOLL_* variable of the environment that no table knows, with the name that was probably
 *  meant, one sentence each. `others` returns the names that are not in our table, one by one, NULL after the last;
 *  it may be NULL. */
void hcoll_settings_check(void (*say)(const char* sentence), const char* (*others)(size_t index));

SUMAC_C_END
