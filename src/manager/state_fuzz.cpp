// Feeds any bytes as the manager's state file: it must be refused with one line, or everything read from it must be
// usable. The first byte decides whether the bytes are the file itself, or SQL that changes a good file, which reaches
// far more of our own code.
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "manager/store.hpp"
#include "manager/test_tree.hpp"

namespace {

using namespace sumac;
using namespace sumac::manager;

/// A fuzzer that was killed could not remove its directory: the next one does.
void remove_directories_of_the_dead(const std::filesystem::path& parent, const std::string& prefix) {
  for (const auto& entry : std::filesystem::directory_iterator(parent)) {
    const std::string name = entry.path().filename();
    const int pid = name.starts_with(prefix) ? std::atoi(name.c_str() + prefix.size()) : 0;
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) std::filesystem::remove_all(entry.path());
  }
}

/// Returns one directory for all runs of the process, in memory if there is a memory file system.
const std::string& directory() {
  static const std::string path = [] {
    const std::string parent = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    const std::string prefix = "sumac-state-fuzz-";
    remove_directories_of_the_dead(parent, prefix);
    std::string name = parent + "/" + prefix + std::to_string(::getpid()) + "-XXXXXX";
    fuzz::must(::mkdtemp(name.data()) != nullptr, "mkdtemp");
    static const std::string made = name;
    std::atexit([] { std::filesystem::remove_all(made); });
    return name;
  }();
  return path;
}

void clear() {
  for (const auto& entry : std::filesystem::directory_iterator(directory())) std::filesystem::remove(entry.path());
}

JobRecord job(std::uint64_t id) {
  JobRecord record;
  record.job_id = JobId{id};
  record.number = static_cast<std::uint32_t>(id);
  record.life = record.ticket = id;
  record.quota = {51, 128, 51, 1, 1, 1, 16, 65536, 0};
  record.hosts = {0, 1, 2};
  record.shares = {{0, TreeId{5}, {0, 1, 2}, {0, 1, 1}, {1, 1, 2}}};
  record.job_key.fill(7);
  return record;
}

void change_good_file(const std::string& path, std::string_view sql) {
  {
    auto store = Store::open(directory());
    fuzz::must(store && store->set_trees("a<- b<a", {{TreeId{5}, {1, 2, 3}}}) && store->put(job(1), Seconds{}) &&
                   store->put(job(2), Seconds{}),
               "a good file");
  }
  sqlite3* db = nullptr;
  fuzz::must(sqlite3_open(path.c_str(), &db) == SQLITE_OK, "sqlite3_open");
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);  // The SQL must not open other files of this machine.
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
  std::uint64_t steps = 0;
  sqlite3_progress_handler(
      db, 1000, [](void* count) { return ++*static_cast<std::uint64_t*>(count) > 100 ? 1 : 0; }, &steps);
  sqlite3_exec(db, std::string(sql).c_str(), nullptr, nullptr, nullptr);  // Most inputs are not SQL.
  sqlite3_close(db);
}

}  // namespace

SUMAC_FUZZ(state) {
  fuzz::Input in(data, size);
  const auto path = directory() + "/" + Store::kFileName;
  clear();
  if ((in.byte() & 1) != 0) {
    change_good_file(path, in.rest());
  } else {
    std::ofstream(path, std::ios::binary) << in.rest();
    fuzz::must(::chmod(path.c_str(), 0600) == 0, "chmod");
  }
  auto store = Store::open(directory());
  if (!store) {
    fuzz::must(!store.error().context.empty() && store.error().context.find('\n') == std::string::npos, "one line");
    return 0;
  }
  const auto saved = store->load();
  if (!saved) return 0;
  // The state is used as main() uses it.
  const Time now = Time{} + Seconds(10);
  Core core = test_core({}, *store);
  core.restore(*saved, now);
  for (const auto* name : {"an-root", "an-leaf1", "an-leaf2"})
    core.node_registers(static_cast<StreamId>(name[3]), test_register(name), now);
  fuzz::must(!core.status_json(now).empty(), "a status");
  core.tick(now + Seconds(3600));
  return 0;
}
