/* Slurm's plug-in: `srun --sumac[=tree|host|off] ./program` runs the program with Sumac, and by a tree of the step's own.
 *
 * srun draws a secret for the step. On each host slurmstepd starts `sumac run-step` before the tasks, as their user, and gives
 * the tasks the variables that it says. The program keeps the host's daemons until its standard input ends: behind the last task,
 * or with slurmstepd, whatever happens to that. Where something fails, a line says so and the tasks run without.
 *
 * Arguments in plugstack.conf: default=tree|host|off [off], for steps without the option; prefix=/opt/sumac [the folder two above
 * this file's]. It needs nothing but headers of Slurm. */
#define _GNU_SOURCE /* dladdr, setresuid, pipe2 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

SPANK_PLUGIN(sumac, 1)

enum { kUpWithinMs = 20000, kEndWithinMs = 5000, kAccountWithinMs = 1000, kWordsMax = 4096, kStepsOfSlurm = 16 };
enum { kStartField = 22 }; /* It counts the fields of /proc/PID/stat. */
static const char kFolder[] = "/run/sumac-slurm";
static const char kSecret[] = "SLURM_SUMAC_SECRET"; /* srun passes SLURM_ variables on also with --export=NONE. */

static char mode[8] = "off";
static char prefix[PATH_MAX];
static int lifeline = -1, answers = -1; /* To and from the helper. */
static uint32_t tasks_left;

static int set_mode(const char* word) {
  if (strcmp(word, "tree") && strcmp(word, "host") && strcmp(word, "off")) return -1;
  snprintf(mode, sizeof mode, "%s", word);
  return 0;
}

static int on_option(int value, const char* word, int remote) {
  (void)value;
  if (0 == set_mode(word ? word : "tree")) return 0;
  if (!remote) slurm_error("sumac: --sumac=%s: tree, host or off", word);
  return -1;
}

static struct spank_option option = {
    "sumac",
    "tree|host|off",
    "collectives by Sumac: through a tree of the step's own [tree], inside hosts only, or not",
    2, /* The argument may be left out. */
    0,
    on_option};

static void find_prefix(void) {
  Dl_info self;
  if (!dladdr((void*)find_prefix, &self) || !self.dli_fname || !realpath(self.dli_fname, prefix)) return;
  for (int up = 0; up < 3; ++up) { /* PREFIX/lib/slurm/sumac_slurm.so */
    char* slash = strrchr(prefix, '/');
    if (slash) *slash = '\0';
  }
}

int slurm_spank_init(spank_t spank, int argc, char** argv) {
  find_prefix();
  for (int i = 0; i < argc; ++i) {
    if (0 == strncmp(argv[i], "prefix=", 7))
      snprintf(prefix, sizeof prefix, "%s", argv[i] + 7);
    else if (strncmp(argv[i], "default=", 8) || set_mode(argv[i] + 8))
      slurm_error("sumac: plugstack.conf: no argument %s; there are default=tree|host|off and prefix=FOLDER", argv[i]);
  }
  const spank_context_t context = spank_context();
  if (S_CTX_LOCAL == context || S_CTX_REMOTE == context) return spank_option_register(spank, &option);
  return 0;
}

/* In srun, before the step begins. */
int slurm_spank_local_user_init(spank_t spank, int argc, char** argv) {
  unsigned char bytes[16];
  char text[2 * sizeof bytes + 1];
  (void)spank, (void)argc, (void)argv;
  if (strcmp(mode, "tree")) return 0;
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return 0;
  for (size_t i = 0; i < sizeof bytes; ++i) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
  setenv(kSecret, text, 1);
  return 0;
}

/* The file by which sharpd knows whose slurmstepd this is (src/hostd/batch_job.hpp). */
static void step_file(char* path, size_t size) { snprintf(path, size, "%s/%d", kFolder, (int)getpid()); }

/* Asks Slurm's controller for the account of a job; `account` stays empty where it says none in time. A process of its own asks, since
 * a controller that is away would hold up the step. */
static void find_account(uint32_t job, char* account, size_t size) {
  int (*load)(job_info_msg_t**, uint32_t, uint16_t) =
      (int (*)(job_info_msg_t**, uint32_t, uint16_t))dlsym(RTLD_DEFAULT, "slurm_load_job");
  int out[2];
  if (!load || pipe2(out, O_CLOEXEC) < 0) return;
  const pid_t child = fork();
  if (0 == child) {
    job_info_msg_t* answer = NULL;
    if (0 == load(&answer, job, 0) && answer && answer->record_count > 0 && answer->job_array[0].account)
      dprintf(out[1], "%s", answer->job_array[0].account);
    _exit(0);
  }
  close(out[1]);
  struct pollfd wait = {out[0], POLLIN, 0};
  if (child > 0 && poll(&wait, 1, kAccountWithinMs) > 0) {
    const ssize_t got = read(out[0], account, size - 1);
    account[got > 0 ? got : 0] = '\0';
  }
  close(out[0]);
  if (child > 0) kill(child, SIGKILL), waitpid(child, NULL, 0);
  if (account[strcspn(account, " \n\t")]) account[0] = '\0'; /* It would be no word. */
}

/* In slurmstepd, as root. No file: sharpd shows the job's number as a claim. */
int slurm_spank_init_post_opt(spank_t spank, int argc, char** argv) {
  char path[64], stat[1024], account[128] = "", *at;
  uint32_t job, index = 0;
  uid_t uid;
  (void)argc, (void)argv;
  if (S_CTX_REMOTE != spank_context() || 0 != geteuid() || ESPANK_SUCCESS != spank_get_item(spank, S_JOB_ID, &job) ||
      ESPANK_SUCCESS != spank_get_item(spank, S_JOB_UID, &uid))
    return 0;
  FILE* file = fopen("/proc/self/stat", "re");
  if (!file) return 0;
  stat[fread(stat, 1, sizeof stat - 1, file)] = '\0';
  fclose(file);
  at = strrchr(stat, ')'); /* The name may have blanks. */
  for (int field = 2; at && field < kStartField; ++field) at = strchr(at + 1, ' ');
  if (!at) return 0;
  /* Rank 0 asks for the job's tree, and it is on the first host: one question for each step. */
  spank_get_item(spank, S_JOB_NODEID, &index);
  if (0 == index) find_account(job, account, sizeof account);
  step_file(path, sizeof path);
  if (0 == mkdir(kFolder, 0755)) chmod(kFolder, 0755); /* Whatever the umask is. */
  unlink(path);                                        /* An earlier process with our number was killed. */
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return 0;
  fchmod(fd, 0644);
  dprintf(fd, "%u %.*s %u %s\n", job, (int)strcspn(at + 1, " "), at + 1, (unsigned)uid, account);
  close(fd);
  return 0;
}

/* In a child of slurmstepd, which may be the user only for the moment. Never returns. */
static void become_helper(uid_t uid, gid_t gid, char** words, char** environment, int in, int out) {
  sigset_t none;
  /* Apart from slurmstepd's children, so that the step's signals reach the tasks alone. */
  if (0 != fork()) _exit(0);
  setsid();
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  dup2(in, 0);
  dup2(out, 1);
  const int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0) dup2(nowhere, 2);
  for (int fd = 3, most = (int)sysconf(_SC_OPEN_MAX); fd < most && fd < 65536; ++fd) close(fd);
  if (0 == setresgid(gid, gid, gid) && 0 == setresuid(uid, uid, uid)) execve(words[0], words, environment);
  dprintf(1, "say %s: %s: install Sumac at the same place on every host\nup\n", words[0], strerror(errno));
  _exit(1);
}

/* Returns 0 if a helper runs, or has said why not. */
static int start_helper(spank_t spank, uint32_t index, int argc, char** argv, char** environment) {
  uid_t uid;
  gid_t gid;
  int in[2], out[2];
  char program[PATH_MAX + 16], number[16];
  char** words = calloc((size_t)argc + 5, sizeof *words);
  if (!words || ESPANK_SUCCESS != spank_get_item(spank, S_JOB_UID, &uid) ||
      ESPANK_SUCCESS != spank_get_item(spank, S_JOB_GID, &gid) || pipe2(in, O_CLOEXEC) < 0 ||
      pipe2(out, O_CLOEXEC) < 0) {
    free(words);
    return -1;
  }
  snprintf(program, sizeof program, "%s/bin/sumac", prefix);
  snprintf(number, sizeof number, "%u", index);
  words[0] = program, words[1] = "run-step", words[2] = mode, words[3] = number;
  for (int i = 0; i < argc; ++i) words[4 + i] = argv[i];
  const pid_t child = fork();
  if (0 == child) become_helper(uid, gid, words, environment, in[0], out[1]);
  free(words);
  close(in[0]);
  close(out[1]);
  lifeline = in[1];
  answers = out[0];
  if (child > 0) waitpid(child, NULL, 0);
  return child > 0 ? 0 : -1;
}

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads one more byte; returns 1, or 0 at the end, or -1 when it is too late. */
static int next_byte(char* byte, long until) {
  for (;;) {
    struct pollfd wait = {answers, POLLIN, 0};
    const long left = until - now_ms();
    if (left <= 0) return -1;
    if (poll(&wait, 1, (int)left) <= 0) continue;
    const ssize_t got = read(answers, byte, 1);
    if (got >= 0) return (int)got;
    if (EINTR != errno) return 0;
  }
}

/* Obeys a line of the helper; returns 1 if it was the last. */
static int obey(spank_t spank, char* line) {
  char* value = strchr(line, '=');
  if (0 == strcmp(line, "up")) return 1;
  if (0 == strncmp(line, "say ", 4)) slurm_spank_log("sumac: %s", line + 4);
  if (0 == strncmp(line, "set ", 4) && value) {
    *value = '\0';
    spank_setenv(spank, line + 4, value + 1, 1);
  }
  return 0;
}

static void end_helper(void) {
  char byte;
  int got;
  if (lifeline < 0) return;
  close(lifeline);
  lifeline = -1;
  /* Its end is the end of its output. */
  const long until = now_ms() + kEndWithinMs;
  do got = next_byte(&byte, until);
  while (1 == got);
  if (got < 0) slurm_error("sumac: the daemons of this step did not end in %d s", kEndWithinMs / 1000);
  close(answers);
  answers = -1;
}

/* In slurmstepd, as the user, before the tasks. */
int slurm_spank_user_init(spank_t spank, int argc, char** argv) {
  uint32_t step = 0, index = 0, tasks = 0;
  char **words = NULL, **environment = NULL, line[kWordsMax];
  int count = 0, got = 0;
  size_t length = 0;
  (void)argc, (void)argv;
  if (0 == strcmp(mode, "off")) return 0;
  spank_get_item(spank, S_JOB_STEPID, &step);
  spank_get_item(spank, S_JOB_NODEID, &index);
  spank_get_item(spank, S_JOB_TOTAL_TASK_COUNT, &tasks);
  spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks_left);
  if (ESPANK_SUCCESS != spank_get_item(spank, S_JOB_ARGV, &count, &words) ||
      ESPANK_SUCCESS != spank_get_item(spank, S_JOB_ENV, &environment) || count < 1) {
    slurm_spank_log("sumac: Slurm does not say what the step runs: the tasks run without Sumac");
    return 0;
  }
  const char* slash = strrchr(words[0], '/');
  /* The last numbers are Slurm's own steps, such as a batch script; `sumac run` brings all that its program needs. */
  if (step > UINT32_MAX - kStepsOfSlurm || 0 == strcmp(slash ? slash + 1 : words[0], "sumac")) return 0;
  if (tasks < 2) snprintf(mode, sizeof mode, "host"); /* Nobody is there to add with. */
  if (start_helper(spank, index, count, words, environment) < 0) {
    slurm_spank_log("sumac: %s: the tasks run without Sumac", strerror(errno));
    return 0;
  }
  const long until = now_ms() + kUpWithinMs;
  while (1 == (got = next_byte(line + length, until))) {
    if ('\n' != line[length]) {
      if (length + 1 < sizeof line) ++length;
      continue;
    }
    line[length] = '\0';
    length = 0;
    if (obey(spank, line)) {
      spank_unsetenv(spank, kSecret); /* The tasks have no use for it. */
      return 0;
    }
  }
  slurm_spank_log("sumac: run-step %s: the tasks run without Sumac", got < 0 ? "does not answer" : "has ended");
  end_helper();
  return 0;
}

int slurm_spank_task_exit(spank_t spank, int argc, char** argv) {
  (void)spank, (void)argc, (void)argv;
  if (tasks_left > 0 && 0 == --tasks_left) end_helper();
  return 0;
}

int slurm_spank_exit(spank_t spank, int argc, char** argv) {
  (void)spank, (void)argc, (void)argv;
  char path[64];
  end_helper();
  step_file(path, sizeof path);
  if (S_CTX_REMOTE == spank_context()) unlink(path);
  return 0;
}
