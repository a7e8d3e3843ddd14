#include "manager/store.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <sstream>

#include "manager/saved_tree.hpp"
#include "manager/sql.hpp"

namespace sumac::manager {
namespace {

constexpr std::uint64_t kApplicationId = 0x53554d43;  // "SUMC", in the header of every file of ours.
constexpr int kLogPages = 32;  // The pages of the log of changes from which they are written into the file.
constexpr const char* kRemedy =
    "when no job runs, move the file away and start again; while jobs run, put back a copy that is whole";

/// The directory must be ours alone: a file that others can write cannot be trusted, and the file names users and keys.
Result<> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  if (errno == ENOENT)
    return fail(Errc::not_found, "state directory {}: its parent does not exist: make it, or give another --state-dir",
                path);
  if (errno != EEXIST) return within("state directory " + path, fail_errno("mkdir").value());
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return within("state directory " + path, fail_errno("stat").value());
  if (!S_ISDIR(info.st_mode))
    return fail(Errc::invalid, "state directory {}: it is a file: give --state-dir a directory", path);
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return fail(Errc::denied,
                "state directory {}: it belongs to user {}, sharp_am runs as {}: chown it, or give another "
                "--state-dir",
                path, info.st_uid, ::geteuid());
  if ((info.st_mode & 022) != 0)
    return fail(Errc::denied, "state directory {}: others may write to it (mode {:04o}): chmod 700 {}", path,
                info.st_mode & 07777, path);
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0)
    return fail(Errc::denied, "state directory {}: not writable: chmod u+rwx it, or give another --state-dir", path);
  return {};
}

Result<std::uint64_t> pragma(sqlite3* db, const char* text) {
  sql::Statement query(db, text);
  auto row = query.step();
  if (!row) return tl::unexpected(row.error());
  if (!*row) return fail(Errc::internal, "{}: no answer", text);
  return query.number(0);
}

std::uint64_t wall_seconds() { return static_cast<std::uint64_t>(::time(nullptr)); }

std::string numbers_text(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (const auto number : numbers) {
    if (!text.empty()) text += ' ';
    text += std::to_string(number);
  }
  return text;
}

Result<std::vector<std::uint32_t>> numbers_in(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  const char *at = text.data(), *end = text.data() + text.size();
  while (at != end) {
    std::uint32_t number = 0;
    const auto [after, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || (after != end && *after != ' '))
      return fail(Errc::invalid, "'{:.40}' is no list of numbers", text);
    numbers.push_back(number);
    at = after == end ? end : after + 1;
  }
  return numbers;
}

}  // namespace

void Store::Close::operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }

Result<Store> Store::open(const std::string& directory) {
  if (auto made = make_directory(directory); !made) return tl::unexpected(made.error());
  const std::string path = directory + "/" + kFileName;
  const mode_t mask = ::umask(077);
  sqlite3* raw = nullptr;
  const int rc =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW, nullptr);
  Store store(path, Database(raw));
  auto ready = rc == SQLITE_OK ? store.prepare() : Result<>(sql::failure(raw, "open"));
  ::umask(mask);
  if (ready) return store;
  switch (ready.error().code) {
    case Errc::exists:
      return fail(Errc::exists,
                  "state file {}: another sharp_am has it open: stop that one, or give another --state-dir", path);
    case Errc::invalid: return fail(Errc::invalid, "state file {}: {}: {}", path, ready.error().context, kRemedy);
    default: return within("state file " + path, ready.error());
  }
}

Result<> Store::prepare() {
  sqlite3* db = db_.get();
  sqlite3_extended_result_codes(db, 1);
  // Exclusive locking refuses a second manager at its first read, and leaves no shared-memory file behind.
  if (auto locked = sql::execute(db, "PRAGMA locking_mode=EXCLUSIVE"); !locked) return locked;
  const auto id = pragma(db, "PRAGMA application_id");
  if (!id) return tl::unexpected(id.error());
  const auto version = pragma(db, "PRAGMA user_version");
  if (!version) return tl::unexpected(version.error());
  const auto tables = pragma(db, "SELECT count(*) FROM sqlite_master");
  if (!tables) return tl::unexpected(tables.error());
  const bool fresh = *tables == 0 && *id == 0 && *version == 0;
  if (!fresh && *id != kApplicationId) return fail(Errc::invalid, "it is an SQLite file of another program");
  if (!fresh && *version != kVersion)
    return fail(Errc::unsupported,
                "it has version {}, this sharp_am reads and writes version {}: start the sharp_am that wrote it, or, "
                "when no job runs, move the file away and start again",
                *version, kVersion);
  if (!fresh)
    if (auto whole = check_whole(); !whole) return whole;
  // With NORMAL a commit survives the death of this process at any instant; fsync happens at checkpoints
  // (docs/adr/0020).
  if (auto mode = sql::execute(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"); !mode) return mode;
  // SQLite's own bound of the log of changes is 4 MB, beside a file of some 40 KB.
  const auto bound =
      fmt::format("PRAGMA wal_autocheckpoint={}; PRAGMA journal_size_limit={}", kLogPages, kLogPages * 4096);
  if (auto set = sql::execute(db, bound.c_str()); !set) return set;
  if (fresh)
    if (auto made = create(); !made) return made;
  // The tables came later than the version of the file, and a manager without them loses nothing else.
  return sql::execute(db, R"(
        CREATE TABLE IF NOT EXISTS begun(job_id INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
        CREATE TABLE IF NOT EXISTS outlives(job_id INTEGER PRIMARY KEY, times_again INTEGER NOT NULL,
                                            devices TEXT NOT NULL) STRICT;
        CREATE TABLE IF NOT EXISTS kept(name TEXT PRIMARY KEY, uid INTEGER NOT NULL, osts INTEGER NOT NULL,
                                        hosts TEXT NOT NULL) STRICT;)");
}

Result<> Store::check_whole() const {
  sql::Statement check(db_.get(), "PRAGMA integrity_check(1)");
  auto row = check.step();
  if (!row) return tl::unexpected(row.error());
  if (auto said = check.text(0); said != "ok") {
    std::replace(said.begin(), said.end(), '\n', ' ');
    return fail(Errc::invalid, "it is damaged ({:.200})", said);
  }
  return {};
}

Result<> Store::create() {
  sqlite3* db = db_.get();
  auto all = sql::Transaction::begin(db);
  if (!all) return tl::unexpected(all.error());
  // STRICT makes a value of another type an error when it is written, instead of a surprise when it is read.
  if (auto made = sql::execute(db, R"(
        CREATE TABLE state(one INTEGER PRIMARY KEY CHECK (one = 1), fabric TEXT NOT NULL,
                           last_number INTEGER NOT NULL) STRICT;
        CREATE TABLE trees(tree INTEGER PRIMARY KEY, id INTEGER NOT NULL, shape TEXT NOT NULL) STRICT;
        CREATE TABLE jobs(job_id INTEGER PRIMARY KEY, number INTEGER NOT NULL, life INTEGER NOT NULL,
                          ticket INTEGER NOT NULL, uid INTEGER NOT NULL, holder TEXT NOT NULL,
                          reservation TEXT NOT NULL, osts INTEGER NOT NULL, payload_per_ost INTEGER NOT NULL,
                          max_groups INTEGER NOT NULL, max_qps INTEGER NOT NULL, max_group_channels INTEGER NOT NULL,
                          num_trees INTEGER NOT NULL, stream_window INTEGER NOT NULL, chunk_bytes INTEGER NOT NULL,
                          features INTEGER NOT NULL, shares TEXT NOT NULL, job_key BLOB NOT NULL) STRICT;
        INSERT INTO state VALUES(1, '', 0);)");
      !made)
    return made;
  const auto stamp =
      fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId, static_cast<int>(kVersion));
  if (auto stamped = sql::execute(db, stamp.c_str()); !stamped) return stamped;
  return all->commit();
}

Result<SavedState> Store::load() const {
  SavedState saved;
  sql::Statement state(db_.get(), "SELECT fabric, last_number FROM state");
  auto row = state.step();
  if (!row) return within(path_, row.error());
  if (!*row) return fail(Errc::invalid, "{}: it lacks its first row: {}", path_, kRemedy);
  saved.fabric = state.text(0);
  saved.last_number = state.small(1);
  sql::Statement trees(db_.get(), "SELECT tree, id, shape FROM trees ORDER BY tree");
  for (;;) {
    row = trees.step();
    if (!row) return within(path_, row.error());
    if (!*row) break;
    if (trees.number(0) != saved.trees.size())
      return fail(Errc::invalid, "{}: tree {} is missing: {}", path_, saved.trees.size(), kRemedy);
    auto shape = numbers_in(trees.text(2));
    if (!shape) return within(fmt::format("{}: tree {}", path_, saved.trees.size()), shape.error());
    saved.trees.push_back({TreeId{trees.small(1)}, *std::move(shape)});
  }
  sql::Statement jobs(db_.get(),
                      "SELECT job_id, number, life, ticket, uid, holder, reservation, osts, payload_per_ost, "
                      "max_groups, max_qps, max_group_channels, num_trees, stream_window, chunk_bytes, features, "
                      "shares, job_key, at, outlives.job_id IS NOT NULL, times_again, devices FROM jobs "
                      "LEFT JOIN begun USING(job_id) LEFT JOIN outlives USING(job_id) ORDER BY number");
  for (;;) {
    row = jobs.step();
    if (!row) return within(path_, row.error());
    if (!*row) break;
    JobRecord job;
    job.job_id = JobId{jobs.number(0)};
    job.number = jobs.small(1);
    job.life = jobs.number(2);
    job.ticket = jobs.number(3);
    job.uid = jobs.small(4);
    job.holder = jobs.text(5);
    job.reservation = jobs.text(6);
    job.quota = {jobs.small(7),  jobs.small(8),  jobs.small(9),  jobs.small(10), jobs.small(11),
                 jobs.small(12), jobs.small(13), jobs.small(14), jobs.number(15)};
    auto numbers = numbers_in(jobs.text(16));
    if (!numbers) return within(fmt::format("{}: job {}", path_, job.job_id), numbers.error());
    if (auto read = read_numbers(*numbers, job); !read)
      return within(fmt::format("{}: job {}", path_, job.job_id), read.error());
    if ((job.outlives_trees = jobs.number(19) != 0)) {
      job.times_again = jobs.small(20);
      job.devices = jobs.text(21);
    } else if (job.shares.empty()) {
      return fail(Errc::invalid, "{}: job {}: the list of its trees is cut short", path_, job.job_id);
    }
    const auto key = jobs.blob(17);
    if (key.size() != job.job_key.size())
      return fail(Errc::invalid, "{}: job {}: its key has {} bytes: {}", path_, job.job_id, key.size(), kRemedy);
    std::ranges::copy(key, job.job_key.begin());
    // A clock that was set back, or a file without the time, gives a job that has just begun.
    const auto at = jobs.number(18), now = wall_seconds();
    if (at != 0 && at < now) saved.ages[job.job_id] = Seconds(now - at);
    saved.jobs.push_back(std::move(job));
  }
  if (auto read = load_kept(saved); !read) return within(path_, read.error());
  return saved;
}

Result<> Store::load_kept(SavedState& saved) const {
  sql::Statement kept(db_.get(), "SELECT name, uid, osts, hosts FROM kept ORDER BY name");
  for (;;) {
    const auto row = kept.step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return {};
    KeptOsts one{kept.text(0), kept.small(1), {}, kept.small(2)};
    std::istringstream hosts(kept.text(3));
    for (std::string host; hosts >> host;) one.hosts.push_back(host);
    saved.kept.push_back(std::move(one));
  }
}

/// A full disk may have room again when the log of changes is written into the file and cut off.
Result<> Store::write(const std::function<Result<>()>& change) {
  auto done = change();
  if (!done && (sqlite3_errcode(db_.get()) & 0xFF) == SQLITE_FULL) {
    sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    done = change();
  }
  return done ? done : within("state file " + path_, done.error());
}

Result<> Store::put(const JobRecord& job, Seconds age) {
  return write([&] { return put_once(job, age); });
}

Result<> Store::put_once(const JobRecord& job, Seconds age) {
  auto all = sql::Transaction::begin(db_.get());
  if (!all) return tl::unexpected(all.error());
  sql::Statement insert(db_.get(), "INSERT OR REPLACE INTO jobs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  const auto& q = job.quota;
  insert.bind(number_of(job.job_id)).bind(job.number).bind(job.life).bind(job.ticket).bind(job.uid);
  insert.bind(std::string_view(job.holder)).bind(std::string_view(job.reservation));
  insert.bind(q.osts).bind(q.payload_per_ost).bind(q.max_groups).bind(q.max_qps).bind(q.max_group_channels);
  insert.bind(q.num_trees).bind(q.stream_window).bind(q.chunk_bytes).bind(q.features);
  insert.bind(std::string_view(numbers_text(numbers_of(job)))).bind(std::span<const std::uint8_t>(job.job_key));
  if (auto done = insert.run(); !done) return done;
  sql::Statement number(db_.get(), "UPDATE state SET last_number = max(last_number, ?)");
  if (auto done = number.bind(job.number).run(); !done) return done;
  sql::Statement begun(db_.get(), "INSERT OR REPLACE INTO begun VALUES(?, ?)");
  const auto at = wall_seconds() - static_cast<std::uint64_t>(std::max<std::int64_t>(age.count(), 0));
  if (auto done = begun.bind(number_of(job.job_id)).bind(at).run(); !done) return done;
  if (job.outlives_trees) {
    sql::Statement outlives(db_.get(), "INSERT OR REPLACE INTO outlives VALUES(?, ?, ?)");
    outlives.bind(number_of(job.job_id)).bind(job.times_again).bind(std::string_view(job.devices));
    if (auto done = outlives.run(); !done) return done;
  }
  return all->commit();
}

Result<> Store::remove(JobId job_id) {
  return write([&]() -> Result<> {
    auto all = sql::Transaction::begin(db_.get());
    if (!all) return tl::unexpected(all.error());
    for (const char* text : {"DELETE FROM jobs WHERE job_id = ?", "DELETE FROM begun WHERE job_id = ?",
                             "DELETE FROM outlives WHERE job_id = ?"})
      if (auto done = sql::Statement(db_.get(), text).bind(number_of(job_id)).run(); !done) return done;
    return all->commit();
  });
}

Result<> Store::keep(const KeptOsts& osts) {
  std::string hosts;
  for (const auto& host : osts.hosts) hosts += host + "\n";
  return write([&] {
    sql::Statement insert(db_.get(), "INSERT OR REPLACE INTO kept VALUES(?, ?, ?, ?)");
    insert.bind(std::string_view(osts.name)).bind(osts.uid).bind(osts.osts).bind(std::string_view(hosts));
    return insert.run();
  });
}

Result<> Store::release(const std::string& name) {
  return write(
      [&] { return sql::Statement(db_.get(), "DELETE FROM kept WHERE name = ?").bind(std::string_view(name)).run(); });
}

Result<> Store::set_trees(const std::string& fabric, const std::vector<SavedTree>& trees) {
  return write([&] { return set_trees_once(fabric, trees); });
}

Result<> Store::set_trees_once(const std::string& fabric, const std::vector<SavedTree>& trees) {
  auto all = sql::Transaction::begin(db_.get());
  if (!all) return tl::unexpected(all.error());
  sql::Statement update(db_.get(), "UPDATE state SET fabric = ?");
  if (auto done = update.bind(std::string_view(fabric)).run(); !done) return done;
  if (auto done = sql::execute(db_.get(), "DELETE FROM trees"); !done) return done;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    sql::Statement insert(db_.get(), "INSERT INTO trees VALUES(?, ?, ?)");
    insert.bind(static_cast<std::uint64_t>(i)).bind(number_of(trees[i].id));
    if (auto done = insert.bind(std::string_view(numbers_text(trees[i].shape))).run(); !done) return done;
  }
  return all->commit();
}

}  // namespace sumac::manager
