#include "bindings/common/explain.h"

#include <stdio.h>
#include <stdlib.h>

void sumac_explain_none(const sumac_team_options_t* options, const char* name, int size, const char* why) {
  if (sumac_team_options_explain(options)) {
    fprintf(stderr, "sumac: communicator %s: %d rank%s: no team: %s\n", '\0' != name[0] ? name : "without a name", size,
            1 == size ? "" : "s", why);
  }
}

void sumac_explain_team(const sumac_team_options_t* options, const sumac_team_t* team) {
  if (!sumac_team_options_explain(options)) {
    return;
  }
  char* text = sumac_team_explain(team);
  if (NULL != text) {
    fputs(text, stderr);
    free(text);
  }
}
