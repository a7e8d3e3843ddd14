/* HCOLL_* variables. They are read once, when the component is opened, and published: all ranks must have the same. */
#include "hcoll.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char complaint[256];

/* A whole number in [low, high], or a complaint. */
static const char *read_number(const char *name, long low, long high, long *value)
{
    const char *text = getenv(name);
    if (NULL == text || '\0' == text[0]) {
        return NULL;
    }
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (0 != errno || '\0' != *end || number < low || number > high) {
        snprintf(complaint, sizeof(complaint), "%s=%s: expected a whole number from %ld to %ld", name, text, low, high);
        return complaint;
    }
    *value = number;
    return NULL;
}

/* Bytes with an optional K, M or G, or "inf". */
static const char *read_bytes(const char *name, int64_t *value)
{
    const char *text = getenv(name);
    if (NULL == text || '\0' == text[0]) {
        return NULL;
    }
    if (0 == strcmp(text, "inf")) {
        *value = INT64_MAX;
        return NULL;
    }
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    int shift = 0;
    switch (*end) {
    case 'k': case 'K': shift = 10; break;
    case 'm': case 'M': shift = 20; break;
    case 'g': case 'G': shift = 30; break;
    }
    if (0 != errno || end == text || '\0' != end[shift ? 1 : 0] || number < 0 || number > (INT64_MAX >> shift)) {
        snprintf(complaint, sizeof(complaint), "%s=%s: expected bytes such as 2048, 64K or inf", name, text);
        return complaint;
    }
    *value = (int64_t) number << shift;
    return NULL;
}

const char *hcoll_settings_read(struct hcoll_settings *settings)
{
    long level = 0, hosts_min = 2, polls = 999;
    int64_t bytes_max = -1;
    const char *wrong;
    if (NULL != (wrong = read_number("HCOLL_ENABLE_SHARP", HCOLL_OFF, HCOLL_FORCE_ALL, &level)) ||
        NULL != (wrong = read_number("HCOLL_SHARP_NP", 1, 1000000, &hosts_min)) ||
        NULL != (wrong = read_number("HCOLL_SHARP_UPROGRESS_NUM_POLLS", 1, 1000000000, &polls)) ||
        NULL != (wrong = read_bytes("HCOLL_ALLREDUCE_SHARP_MAX", &bytes_max)) ||
        NULL != (wrong = read_bytes("HCOLL_BCOL_P2P_ALLREDUCE_SHARP_MAX", &bytes_max))) {
        return wrong;
    }
    settings->level = (int) level;
    settings->hosts_min = (int) hosts_min;
    settings->polls = (int) polls;
    settings->allreduce_bytes_max = bytes_max;
    settings->devices = getenv("HCOLL_MAIN_IB");
    return NULL;
}
