// Tests small parts: texts for numbers, options, the process's identity after fork, agreement.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>

#include "base/c_text.hpp"
#include "client/fork_guard.hpp"
#include "client/oob.hpp"
#include "client/options.hpp"
#include "client/status.hpp"

namespace sumac::client {
namespace {

TEST(Status, EveryNumberHasItsOwnWordsAndNoneIsNull) {
  std::set<std::string> words;
  for (int status = 0; status >= -20; --status) words.insert(status_text(status));
  EXPECT_EQ(words.size(), 21u);
  EXPECT_STREQ(status_text(-21), "Unknown error");
  EXPECT_STREQ(status_text(1), "Unknown error");
  EXPECT_STREQ(status_text(SHARP_COLL_EGROUP_ALLOC), "SHArP Group alloc error");
  EXPECT_STREQ(status_text(SHARP_COLL_ESESS_INIT), "Cannot connect to SHArPD");
  EXPECT_STREQ(status_text(SHARP_COLL_EJOB_CREATE), "Cannot create SHARP job");
  EXPECT_STREQ(status_text(SHARP_COLL_ELOCK_FAILED), "Streaming Tree lock failed");
}

TEST(ClientOptions, TheEnvironmentIsReadEachTime) {
  ::setenv("SHARP_COLL_ENABLE_SAT", "1", 1);
  EXPECT_TRUE(load_client_config()->enable_sat);
  ::setenv("SHARP_COLL_ENABLE_SAT", "0", 1);
  EXPECT_FALSE(load_client_config()->enable_sat);
  ::unsetenv("SHARP_COLL_ENABLE_SAT");
  const auto config = load_client_config();
  ASSERT_TRUE(config) << config.error().context;
  EXPECT_EQ(config->sat_threshold.count, 16384u);
  EXPECT_EQ(config->pipeline_depth, 64u);
}

TEST(ClientOptions, PublishedDefaultsGiveWayToValues) {
  ::setenv("SUMAC_DEFAULTS", "2018", 1);
  ::setenv("SHARP_COLL_SAT_THRESHOLD", "4096", 1);
  const auto config = load_client_config();
  ::unsetenv("SUMAC_DEFAULTS");
  ::unsetenv("SHARP_COLL_SAT_THRESHOLD");
  ASSERT_TRUE(config) << config.error().context;
  EXPECT_EQ(config->quota_payload_per_ost, 128u);
  EXPECT_EQ(config->sat_threshold.count, 4096u);
}

TEST(ClientOptions, ABadValueIsNamed) {
  ::setenv("SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST", "100", 1);
  const auto config = load_client_config();
  ::unsetenv("SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST");
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().context.find("SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST"), std::string::npos);
}

TEST(ClientOptions, AMistypedVariableIsNoticedAndAForeignOneIsNot) {
  ::setenv("SHARP_COLL_ENABEL_SAT", "1", 1);
  ::setenv("SUMAC_TRANSPROT", "tcp", 1);
  ::setenv("HCOLL_WHATEVER", "1", 1);
  ::setenv("SUMAC_NODE_OST_COUNT", "1", 1);
  const auto sentences = unknown_client_variables();
  for (const char* name : {"SHARP_COLL_ENABEL_SAT", "SUMAC_TRANSPROT", "HCOLL_WHATEVER", "SUMAC_NODE_OST_COUNT"})
    ::unsetenv(name);
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0], "unknown variable SHARP_COLL_ENABEL_SAT: did you mean SHARP_COLL_ENABLE_SAT?");
  EXPECT_EQ(sentences[1], "unknown variable SUMAC_TRANSPROT: did you mean SUMAC_TRANSPORT?");
}

/// In a process of its own: once there is a team, there is one.
TEST(ClientOptionsDeathTest, WhereATeamIsItNamesWhatBelongsToNoProgram) {
  const auto names = [] {
    ::setenv("SHARP_COLL_ENABEL_SAT", "1", 1);
    ::setenv("SUMAC_TRANSPROT", "tcp", 1);
    ::setenv("SUMAC_VERBOSE", "1", 1);
    const auto before = unknown_client_variables();
    leave_names_to_team();
    const auto behind = unknown_client_variables();
    ::_exit(before.size() == 3 && behind.size() == 1 && behind[0].find("SHARP_COLL_") != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(names(), testing::ExitedWithCode(0), "");
}

TEST(ForkGuard, AChildIsAnotherProcess) {
  const auto mark = process_mark();
  EXPECT_TRUE(same_process(mark));
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool before = same_process(mark);
    const auto own = process_mark();
    ::_exit(!before && own != mark && same_process(own) && !same_process(mark) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(same_process(mark));
}

/// The report of a rank on this host.
Report report_of(const std::string& host, const Outcome<>& outcome) {
  Report report = Report::of(outcome);
  EXPECT_STRNE(report.host, "") << "it names the machine itself";
  copy_text(host, report.host, sizeof report.host);
  return report;
}

TEST(Oob, TheFirstFailureInRankOrderIsTheOneAllHearOf) {
  std::vector<Report> reports(4);
  EXPECT_EQ(first_failure(reports).status, 0);
  reports[3] = report_of("c", failure(-8, "no daemon"));
  reports[2] = report_of("b", failure(-9, "no device {}", std::string(400, 'x')));
  const auto decided = first_failure(reports).outcome();
  ASSERT_FALSE(decided);
  EXPECT_EQ(decided.error().status, -9);
  EXPECT_EQ(decided.error().text.substr(0, 31), "rank 2 (host b): no device xxxx");
}

TEST(Oob, ARankThatKnowsTheReasonSpeaksBeforeOnesThatWaitedInVain) {
  std::vector<Report> reports(4);
  reports[1] = report_of("a", in_vain(failure(-9, "no answer")));
  EXPECT_EQ(first_failure(reports).outcome().error().text, "rank 1 (host a): no answer");
  reports[3] = report_of("c", failure(-8, "the node is gone"));
  EXPECT_EQ(first_failure(reports).outcome().error().text, "rank 3 (host c): the node is gone");
  Report foreign = Report::of(failure(-8, "not ours"));
  foreign.status = 7;  // No error of ours.
  EXPECT_LT(foreign.outcome().error().status, 0);
}

TEST(Oob, AloneNoFunctionIsNeeded) {
  const Oob oob({}, nullptr, 0, 1);
  EXPECT_TRUE(oob.agree({}));
  const auto failed = oob.agree(failure(-5, "no tree"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().status, -5);
}

TEST(Oob, AFailingFunctionOfTheCallerIsNamed) {
  sharp_coll_out_of_band_colls functions{};
  functions.gather = [](void*, int, void*, void*, int) { return -7; };
  const auto failed = Oob(functions, nullptr, 0, 2).agree({});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().status, SHARP_COLL_EOOB);
  EXPECT_NE(failed.error().text.find("-7"), std::string::npos);
}

}  // namespace
}  // namespace sumac::client
