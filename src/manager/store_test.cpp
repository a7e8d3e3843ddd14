// Tests the state file: its contents, and every kind of file that the manager does not expect.
#include "manager/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/test_folder.hpp"

namespace sumac::manager {
namespace {

using testing::HasSubstr;

struct StateDirectory : TestFolder {
  StateDirectory() : TestFolder("state") {}
  std::string file() const { return path + "/" + Store::kFileName; }
};

JobRecord job(std::uint64_t id) {
  JobRecord record;
  record.job_id = JobId{id};
  record.number = static_cast<std::uint32_t>(id % 100);
  record.life = 0xFFFFFFFFFFFFFFFFu - id;
  record.ticket = 3;
  record.uid = 1000;
  record.holder = "h1 pid 5 uid 1000";
  record.reservation = "weather";
  record.quota = {51, 128, 51, 1, 1, 1, 16, 65536, 5};
  record.hosts = {4, 0, 2};
  record.shares = {{0, TreeId{0x7FFFFFFF}, {3, 1, 2}, {0, 1, 1}, {1, 1, 2}}, {2, TreeId{9}, {5}, {0}, {0, 0, 0}}};
  record.shares[0].numbers = {{3, 40}, {500, 11}};
  record.job_key = {1, 2, 3};
  return record;
}

/// Runs SQL on the closed file, as another program would.
void meddle(const std::string& file, const char* text) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
  char* why = nullptr;
  ASSERT_EQ(sqlite3_exec(db, text, nullptr, nullptr, &why), SQLITE_OK) << why;
  sqlite3_close(db);
}

TEST(Store, gives_back_what_was_put) {
  StateDirectory dir;
  auto one = job(1), other = job(0xFEDCBA9876543210u);
  one.job_key = {};
  one.reservation.clear();
  one.holder.clear();
  {
    auto store = Store::open(dir.path);
    ASSERT_TRUE(store) << store.error().context;
    EXPECT_TRUE(store->load()->fabric.empty()) << "a first life";
    ASSERT_TRUE(store->set_trees("node a\n", {{TreeId{7}, {1, 2, 3}}, {TreeId{}, {}}}));
    ASSERT_TRUE(store->put(one, Seconds{}));
    ASSERT_TRUE(store->put(other, Seconds{}));
    ASSERT_TRUE(store->put(job(2), Seconds{}));
    ASSERT_TRUE(store->remove(JobId{2}));
    ASSERT_TRUE(store->put(one, Seconds{})) << "a job is replaced";
  }
  const auto saved = Store::open(dir.path)->load();
  ASSERT_TRUE(saved) << saved.error().context;
  EXPECT_EQ(saved->fabric, "node a\n");
  EXPECT_THAT(saved->trees, testing::ElementsAre(SavedTree{TreeId{7}, {1, 2, 3}}, SavedTree{TreeId{}, {}}));
  EXPECT_EQ(saved->last_number, std::max({one.number, other.number, 2u})) << "a number is not used again";
  EXPECT_THAT(saved->jobs, testing::UnorderedElementsAre(one, other));
  struct stat info {};
  ASSERT_EQ(::stat(dir.file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(Store, knows_a_job_that_outlives_its_trees_and_has_none) {
  StateDirectory dir;
  auto one = job(1);
  one.outlives_trees = true;
  one.devices = "mlx5_0:1";
  {
    auto store = Store::open(dir.path);
    ASSERT_TRUE(store->put(one, Seconds{}));
    one.shares.clear();
    one.times_again = 3;
    ASSERT_TRUE(store->put(one, Seconds{})) << "it replaces what was written";
  }
  {
    auto store = Store::open(dir.path);
    EXPECT_THAT(store->load()->jobs, testing::ElementsAre(one));
    ASSERT_TRUE(store->remove(one.job_id));
    one.outlives_trees = false;
    ASSERT_TRUE(store->put(one, Seconds{}));
  }
  EXPECT_FALSE(Store::open(dir.path)->load()) << "another job has trees";
}

TEST(Store, knows_reservations_until_they_are_released) {
  StateDirectory dir;
  const KeptOsts one{"one", 1000, {"h1", "h2"}, 40}, other{"other", 0, {"h3"}, 1};
  {
    auto store = Store::open(dir.path);
    for (const auto& osts : {other, one}) ASSERT_TRUE(store->keep(osts));
    EXPECT_THAT(store->load()->kept, testing::ElementsAre(one, other));
    ASSERT_TRUE(store->release("other"));
  }
  EXPECT_THAT(Store::open(dir.path)->load()->kept, testing::ElementsAre(one));
}

TEST(Store, knows_how_old_a_job_is) {
  StateDirectory dir;
  ASSERT_TRUE(Store::open(dir.path)->put(job(1), Seconds(3600)));
  const auto saved = Store::open(dir.path)->load();
  ASSERT_TRUE(saved);
  EXPECT_GE(saved->ages.at(JobId{1}), Seconds(3600));
  EXPECT_LT(saved->ages.at(JobId{1}), Seconds(3700));
}

TEST(Store, takes_no_more_room_after_many_jobs_than_after_a_few) {
  StateDirectory dir;
  auto store = Store::open(dir.path);
  ASSERT_TRUE(store);
  for (std::uint64_t id = 1; id <= 300; ++id) {
    ASSERT_TRUE(store->put(job(id), Seconds{}));
    ASSERT_TRUE(store->remove(JobId{id}));
  }
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path)) bytes += entry.file_size();
  EXPECT_LT(bytes, 220'000u);
  // No file may grow.
  const auto old = ::signal(SIGXFSZ, SIG_IGN);
  rlimit room{}, none{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &room), 0);
  none.rlim_max = room.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const auto put = store->put(job(1), Seconds{});
  ::setrlimit(RLIMIT_FSIZE, &room);
  ::signal(SIGXFSZ, old);
  ASSERT_FALSE(put);
  EXPECT_THAT(put.error().context, HasSubstr(dir.file())) << "an error names the file";
}

TEST(Store, what_is_written_survives_a_death_without_a_goodbye) {
  StateDirectory dir;
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = Store::open(dir.path);
    if (!store || !store->set_trees("node a\n", {{TreeId{7}, {1, 2, 3}}, {TreeId{}, {}}}) ||
        !store->put(job(1), Seconds{}))
      ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto saved = Store::open(dir.path)->load();
  ASSERT_TRUE(saved);
  EXPECT_THAT(saved->jobs, testing::ElementsAre(job(1)));
}

TEST(Store, refuses_a_directory_that_is_not_fit_and_says_what_to_do) {
  StateDirectory dir;
  std::ofstream(dir.path + "/file") << "x";
  ASSERT_EQ(::mkdir((dir.path + "/open").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((dir.path + "/open").c_str(), 0777), 0);
  const struct {
    const char* name;
    std::string path;
    Errc code;
    const char* says;
  } rows[] = {
      {"missing, and its parent too", dir.path + "/no/such", Errc::not_found, "its parent does not exist: make it"},
      {"a file", dir.path + "/file", Errc::invalid, "it is a file"},
      {"others may write", dir.path + "/open", Errc::denied, "chmod 700"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto store = Store::open(row.path);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, row.code);
    EXPECT_THAT(store.error().context, HasSubstr(row.says));
    EXPECT_THAT(store.error().context, HasSubstr(row.path));
  }
  EXPECT_TRUE(Store::open(dir.path + "/new")) << "made where its parent is there";
}

TEST(Store, two_managers_can_not_share_a_state) {
  StateDirectory dir;
  const auto first = Store::open(dir.path);
  ASSERT_TRUE(first);
  const auto second = Store::open(dir.path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::exists);
  EXPECT_THAT(second.error().context, HasSubstr("another sharp_am has it open"));
}

TEST(Store, refuses_a_file_that_is_damaged_or_not_ours_and_leaves_it_as_it_is) {
  const struct {
    const char* name;
    std::function<void(const std::string&)> harm;
    Errc code;
    const char* says;
  } rows[] = {
      {"no database at all",
       [](const auto& f) { std::ofstream(f) << "hello, this is a letter, and a long one at that"; }, Errc::invalid,
       "when no job runs, move the file away"},
      {"another program's", [](const auto& f) { meddle(f, "PRAGMA application_id=77"); }, Errc::invalid,
       "of another program"},
      {"a newer version", [](const auto& f) { meddle(f, "PRAGMA user_version=99"); }, Errc::unsupported,
       "it has version 99, this sharp_am reads and writes version 1: start the sharp_am that wrote it, or, when no job "
       "runs, move the file away"},
      {"an older version", [](const auto& f) { meddle(f, "PRAGMA user_version=0"); }, Errc::unsupported,
       "it has version 0, this sharp_am"},
      {"a missing table", [](const auto& f) { meddle(f, "DROP TABLE jobs"); }, Errc::invalid, "no such table"},
      {"a missing row", [](const auto& f) { meddle(f, "DELETE FROM state"); }, Errc::invalid, "lacks its first row"},
      {"shares that are no numbers", [](const auto& f) { meddle(f, "UPDATE jobs SET shares='1 x'"); }, Errc::invalid,
       "no list of numbers"},
      {"shares that are cut short", [](const auto& f) { meddle(f, "UPDATE jobs SET shares='1 4 0 7 2 1'"); },
       Errc::invalid, "makes no sense"},
      {"half a key", [](const auto& f) { meddle(f, "UPDATE jobs SET job_key = x'0102'"); }, Errc::invalid,
       "its key has 2 bytes"},
      {"a tree too few", [](const auto& f) { meddle(f, "DELETE FROM trees WHERE tree = 0"); }, Errc::invalid,
       "tree 0 is missing"},
      {"its second half gone",
       [](const auto& f) { std::filesystem::resize_file(f, std::filesystem::file_size(f) / 2); }, Errc::invalid, ""},
      {"rubbish in the middle",
       [](const auto& f) {
         std::fstream file(f, std::ios::in | std::ios::out | std::ios::binary);
         file.seekp(2 * 4096);
         for (int i = 0; i < 4000; ++i) file.put(static_cast<char>(i * 7));
       },
       Errc::invalid, ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    StateDirectory dir;
    {
      auto store = Store::open(dir.path);
      ASSERT_TRUE(store->set_trees("node a\n", {{TreeId{7}, {1, 2, 3}}, {TreeId{}, {}}}));
      for (std::uint64_t id = 1; id <= 50; ++id) ASSERT_TRUE(store->put(job(id), Seconds{}));
    }
    row.harm(dir.file());
    const auto before = std::filesystem::file_size(dir.file());
    const auto opened = Store::open(dir.path);
    const auto saved = opened ? opened->load() : tl::unexpected(opened.error());
    ASSERT_FALSE(saved) << "half-read";
    EXPECT_EQ(saved.error().code, row.code) << saved.error().context;
    EXPECT_THAT(saved.error().context, HasSubstr(row.says));
    EXPECT_THAT(saved.error().context, HasSubstr(Store::kFileName));
    EXPECT_EQ(std::filesystem::file_size(dir.file()), before);
  }
}

TEST(Store, believes_no_group_numbers_that_make_no_sense) {
  // One host, and one node as its tree; the number of ranges follows, and the first number and the count of each.
  for (const char* numbers : {"1 1 4", "", "x", "1 1", "2 1 4 9", "1 0 4", "1 4 0", "1 70000 1", "1 1 4 9"}) {
    SCOPED_TRACE(numbers);
    StateDirectory dir;
    ASSERT_TRUE(Store::open(dir.path)->put(job(1), Seconds{}));
    meddle(dir.file(), fmt::format("UPDATE jobs SET shares='1 0 0 7 1 3 1 0 1 0 {}'", numbers).c_str());
    const auto saved = Store::open(dir.path)->load();
    if (std::string_view(numbers) == "1 1 4") {
      ASSERT_TRUE(saved) << saved.error().context;
      EXPECT_EQ(saved->jobs[0].shares[0].numbers, (std::vector<wire::NumberRange>{{1, 4}}));
      continue;
    }
    ASSERT_FALSE(saved);
    EXPECT_THAT(saved.error().context, HasSubstr("job 1"));
  }
}

}  // namespace
}  // namespace sumac::manager
