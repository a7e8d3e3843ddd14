#include "base/subordinate_ids.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace sumac {
namespace {

TEST(SubordinateIds, a_uid_given_to_a_user_is_that_user_and_every_other_is_itself) {
  const std::string path = testing::TempDir() + "/subuid." + std::to_string(::getpid());
  SubordinateIds ids(path);
  EXPECT_EQ(ids.owner_of(100000), 100000u) << "without a file nobody has further uids";
  std::ofstream(path) << "1000:100000:65536\nnobody:300000:10\nroot:400000:65536\nrubbish\n1001:x:5\n1002:500000:\n";
  const struct {
    uid_t uid, owner;
  } rows[] = {{99999, 99999},   {100000, 1000}, {165535, 1000},   {165536, 165536}, {300009, 65534},
              {300010, 300010}, {1000, 1000},   {400000, 400000}, {500000, 500000}, {0, 0}};
  for (const auto& row : rows) EXPECT_EQ(ids.owner_of(row.uid), row.owner) << row.uid;
  std::ofstream(path) << "1003:100000:65536\n";
  const timespec later[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), later, 0), 0);
  EXPECT_EQ(ids.owner_of(100000), 1003u) << "a changed file is read again";
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace sumac
