/* Reads the variables once, when the binding starts. It publishes them: all ranks must have the same. */
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_number(const struct hcoll_variable* variable, const char* text, struct hcoll_settings* settings) {
  char* end = NULL;
  errno = 0;
  long number = strtol(text, &end, 10);
  if (0 != errno || end == text || '\0' != *end || number < variable->low || number > variable->high) {
    return -1;
  }
  *(int*)((char*)settings + variable->offset) = (int)number;
  return 0;
}

/* Reads bytes with an optional K, M or G; "inf"; "auto". */
static int read_bytes(const struct hcoll_variable* variable, const char* text, struct hcoll_settings* settings) {
  int64_t* value = (int64_t*)((char*)settings + variable->offset);
  if (0 == strcmp(text, "inf") || 0 == strcmp(text, "auto")) {
    *value = 'i' == text[0] ? INT64_MAX : -1;
    return 0;
  }
  char* end = NULL;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  int shift = 0;
  switch (*end) {
    case 'k':
    case 'K': shift = 10; break;
    case 'm':
    case 'M': shift = 20; break;
    case 'g':
    case 'G': shift = 30; break;
  }
  if (0 != errno || end == text || '\0' != end[shift ? 1 : 0] || number < 0 || number > (INT64_MAX >> shift)) {
    return -1;
  }
  *value = (int64_t)number << shift;
  return 0;
}

static int read_choice(const struct hcoll_variable* variable, const char* text, struct hcoll_settings* settings) {
  if (0 == strcmp(text, "auto")) {
    *(int*)((char*)settings + variable->offset) = -1;
    return 0;
  }
  return read_number(variable, text, settings);
}

static int read_text(const struct hcoll_variable* variable, const char* text, struct hcoll_settings* settings) {
  *(const char**)((char*)settings + variable->offset) = '\0' == text[0] ? NULL : text;
  return 0;
}

#define NUMBER(member, from, to) \
  .read = read_number, .offset = offsetof(struct hcoll_settings, member), .low = from, .high = to

#define CHOICE(member, from, to) \
  .read = read_choice, .offset = offsetof(struct hcoll_settings, member), .low = from, .high = to

const struct hcoll_variable hcoll_variables[] = {
    /* The first one, because the others are not read if it is 0. */
    {.name = "SUMAC_ENABLE",
     .default_text = "1",
     .legal = "0 or 1",
     .doc = "0: every binding is as if it were absent.",
     NUMBER(enable, 0, 1)},
    {.name = "HCOLL_ENABLE_SHARP",
     .default_text = "0",
     .legal = "a whole number from 0 to 4",
     .doc = "0: no tree, shared memory inside hosts alone. 1: use the tree if it is there. 2: the job must be there, a "
            "communicator without a group goes on "
            "without. 3: every "
            "communicator, or end the job. 4: as 3, and every collective that the tree can do, whatever its size.",
     NUMBER(level, HCOLL_OFF, HCOLL_FORCE_ALL)},
    {.name = "HCOLL_SHARP_NP",
     .default_text = "2",
     .legal = "a whole number from 1 to 1000000",
     .doc = "Fewest hosts of a communicator that uses the tree.",
     NUMBER(hosts_min, 1, 1000000)},
    {.name = "HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX",
     .alias = "HCOLL_ALLREDUCE_SHARP_MAX",
     .default_text = "auto",
     .legal = "bytes such as 2048, 64K or inf, or auto",
     .doc = "Largest allreduce that is sent to the tree. auto: what a group has in flight at once (OSTs x payload), "
            "without limit where "
            "streaming is on; but no more than what the tree carries faster than the hosts do by themselves, by the "
            "rates of the fabric's links and where its nodes are (SUMAC_EXPLAIN=1 shows the numbers). "
            "HCOLL_ENABLE_SHARP=4 ignores it.",
     .read = read_bytes,
     .offset = offsetof(struct hcoll_settings, allreduce_bytes_max)},
    {.name = "HCOLL_SHARP_UPROGRESS_NUM_POLLS",
     .default_text = "999",
     .legal = "a whole number from 1 to 1000000000",
     .doc = "A rank that waits for the tree gives Open MPI a turn after so many looks (and every millisecond in any "
            "case).",
     NUMBER(polls, 1, 1000000000)},
    {.name = "HCOLL_MAIN_IB",
     .default_text = "",
     .legal = "text",
     .doc =
         "Ports by which leaders join their trees, mlx5_0:1,mlx5_1:1: see SHARP_COLL_IB_DEV_LIST, which goes before.",
     .read = read_text,
     .offset = offsetof(struct hcoll_settings, devices)},
    {.name = "SUMAC_LAST_LINE",
     .default_text = "auto",
     .legal = "0, 1 or auto",
     .doc =
         "1: at MPI_Finalize rank 0 prints one line that counts the collective calls by way. 0: it prints none. auto: "
         "under `sumac run`, with the interposed library, and where rank 0 has a variable that begins with SUMAC_, "
         "HCOLL_ or OMPI_MCA_coll_hcoll_. Without any of these the component prints no warnings either, and makes "
         "MPI_COMM_WORLD's team at its first blocking collective instead of in MPI_Init.",
     CHOICE(last_line, 0, 1)},
    {.name = "SUMAC_PROGRESS_THREAD",
     .default_text = "0",
     .legal = "0 or 1",
     .doc =
         "1: a thread moves nonblocking collectives while the program is busy elsewhere, inside a host and through "
         "the tree. An operation for which MPI carries the data between hosts moves inside MPI calls only, and those "
         "behind it on its communicator wait for it; with the interposed library such an operation is the MPI's own. "
         "The thread sleeps while there is nothing to move.",
     NUMBER(progress_thread, 0, 1)},
    {.name = "SUMAC_TEAM_AFTER",
     .default_text = "auto",
     .legal = "a whole number from 0 to 1000000000, or auto",
     .doc =
         "The collectives of a communicator that the MPI does before Sumac makes its team. auto: as many as gain what "
         "the making costs, 600 on one host, and over hosts the fewer the more hosts there are: 12 up to 4 hosts, 6 on "
         "8, 4 on 16. 0: the first one makes it, as it always does for MPI_COMM_WORLD, a communicator on one host "
         "with a tree, a persistent collective, and with HCOLL_ENABLE_SHARP=3 or 4.",
     CHOICE(team_after, 0, 1000000000)},
    {.name = "SUMAC_PROFILE",
     .default_text = "0",
     .legal = "0, 1 or 2",
     .doc = "1: at MPI_Finalize rank 0 prints a table of the job's collective calls, with bytes, time and the slowest "
            "rank "
            "(docs/profile.md). 2: every row of it, with exact bytes.",
     NUMBER(profile, 0, 2)},
    {.name = "SUMAC_TRACE",
     .default_text = "",
     .legal = "text",
     .doc = "A folder. At MPI_Finalize each rank writes its collective calls there, as a file that Perfetto opens "
            "(docs/profile.md).",
     .read = read_text,
     .offset = offsetof(struct hcoll_settings, trace)},
};
const size_t hcoll_variable_count = sizeof(hcoll_variables) / sizeof(hcoll_variables[0]);

const struct hcoll_parameter hcoll_parameters[HCOLL_PARAMETERS] = {
    [HCOLL_PARAMETER_ENABLE] = {"enable", 1, 2, "Enable (1) or disable (0) the component"},
    [HCOLL_PARAMETER_NP] = {"np", 2, 2, "Communicators of fewer ranks than this are left alone"},
    [HCOLL_PARAMETER_PRIORITY] = {"priority", 90, 9, "Priority among the coll components"},
};

extern char** environ;

int hcoll_is_asked_for(void) {
  static const char* const prefixes[] = {"SUMAC_", "HCOLL_", "OMPI_MCA_coll_hcoll_"};
  for (char** entry = environ; NULL != entry && NULL != *entry; ++entry) {
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); ++i) {
      if (0 == strncmp(*entry, prefixes[i], strlen(prefixes[i]))) {
        return 1;
      }
    }
  }
  return 0;
}

/* An empty value counts as unset, because users clear a variable by `VARIABLE= program`. */
static const char* lookup(const char* name) {
  const char* text = NULL == name ? NULL : getenv(name);
  return NULL == text || '\0' == text[0] ? NULL : text;
}

const char* hcoll_settings_read(struct hcoll_settings* settings) {
  static char complaint[256];
  for (size_t i = 0; i < hcoll_variable_count; ++i) {
    const struct hcoll_variable* variable = &hcoll_variables[i];
    if (NULL == variable->read) {
      continue;
    }
    const char* name = variable->name;
    const char* text = lookup(name);
    if (NULL == text && NULL != (text = lookup(variable->alias))) {
      name = variable->alias;
    }
    if (NULL == text) {
      text = variable->default_text;
    }
    if (0 != variable->read(variable, text, settings)) {
      snprintf(complaint, sizeof(complaint), "%s=%s: expected %s", name, text, variable->legal);
      return complaint;
    }
    if (!settings->enable) {
      return NULL;
    }
  }
  return NULL;
}
