#include "team/options.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/test_folder.hpp"
#include "machine/discover.hpp"
#include "machine/fingerprint.hpp"
#include "team/options_handle.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

/// Sets these variables, and unsets all others of ours, as long as it lives.
class Environment {
 public:
  explicit Environment(std::vector<std::pair<std::string, std::string>> variables) {
    for (const auto& option : kOptions) ::unsetenv(std::string(option.name).c_str());
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    variables_ = std::move(variables);
  }
  ~Environment() {
    for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
  }

 private:
  std::vector<std::pair<std::string, std::string>> variables_;
};

struct Read {
  int status;
  std::string why;
  std::uint64_t signature = 0;
};

Read read(std::vector<std::pair<std::string, std::string>> variables) {
  variables.emplace_back("XDG_CONFIG_HOME", "/nowhere");
  const Environment environment(std::move(variables));
  sumac_team_options_t* options = nullptr;
  char why[512] = "";
  Read result{sumac_team_options_read(&options, why, sizeof why), why, 0};
  if (result.status == SUMAC_TEAM_OK) {
    result.signature = sumac_team_options_signature(options);
    sumac_team_options_free(options);
  }
  return result;
}

TEST(Options, WhatIsWrongIsNamedWithWhatIsLegal) {
  const struct {
    const char* name;
    std::vector<std::pair<std::string, std::string>> variables;
    std::vector<const char*> says;
  } rows[] = {
      {"lists of different lengths",
       {{"HCOLL_SBGP", "basesmuma,p2p"}, {"HCOLL_BCOL", "basesmuma"}},
       {"HCOLL_BCOL=basesmuma", "2"}},
      {"an unknown level", {{"HCOLL_SBGP", "basesmsocket,numa"}}, {"HCOLL_SBGP=", "numa", "basesmuma"}},
      {"an unknown primitive",
       {{"HCOLL_BCOL", "basesmuma,basesmuma,iboffload"}},
       {"HCOLL_BCOL=", "iboffload", "ucx_p2p"}},
      {"neither 0 nor 1", {{"HCOLL_ML_DISABLE_BCAST", "maybe"}}, {"HCOLL_ML_DISABLE_BCAST=maybe", "0 or 1"}},
      {"no such backing", {{"SUMAC_SHM_BACKING", "sysv"}}, {"SUMAC_SHM_BACKING=sysv", "memfd"}},
      {"no such algorithm", {{"SUMAC_SHM_ALLREDUCE", "fast"}}, {"SUMAC_SHM_ALLREDUCE=fast", "auto", "flat"}},
      {"a chunk of nothing", {{"SUMAC_TEAM_CHUNK", "10"}}, {"SUMAC_TEAM_CHUNK=10", "1KiB"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Read result = read(row.variables);
    EXPECT_EQ(result.status, SUMAC_TEAM_INVALID);
    for (const char* word : row.says) EXPECT_NE(result.why.find(word), std::string::npos) << result.why;
  }
}

TEST(Options, TheSignatureIsOfWhatMustBeTheSame) {
  const Read usual = read({});
  ASSERT_EQ(usual.status, SUMAC_TEAM_OK) << usual.why;
  EXPECT_EQ(usual.why, "");
  EXPECT_EQ(usual.signature, read({{"SUMAC_EXPLAIN", "1"}}).signature);
  EXPECT_EQ(usual.signature, read({{"SUMAC_SHM_BACKING", "devshm"}}).signature);
  EXPECT_EQ(usual.signature, read({{"HCOLL_SBGP", "basesmssocket, basesmuma,p2p"}}).signature)
      << "an alias and a blank";
  EXPECT_NE(usual.signature, read({{"HCOLL_SBGP", "basesmuma,p2p"}}).signature);
  EXPECT_NE(usual.signature, read({{"HCOLL_ML_DISABLE_ALLTOALL", "1"}}).signature);
  EXPECT_NE(usual.signature, read({{"SUMAC_TEAM_CHUNK", "64k"}}).signature);
  EXPECT_NE(usual.signature, read({{"SUMAC_SHM_BARRIER", "flat"}}).signature);
}

TEST(Options, EachCollectiveIsSwitchedOffByItsOwnNameAlone) {
  for (std::size_t c = 0; c < coll::kCollectives.size(); ++c) {
    std::string name = "HCOLL_ML_DISABLE_";
    for (const char letter : coll::to_string(static_cast<coll::Kind>(c)))
      name += static_cast<char>(std::toupper(letter));
    SCOPED_TRACE(name);
    std::array<bool, coll::kKinds> wanted{};
    wanted[c] = true;
    EXPECT_EQ(wanted, options_with({{name, "1"}}).options.disabled);
    wanted[c] = false;
    EXPECT_EQ(wanted, options_with({{name, "0"}}).options.disabled);
    EXPECT_NE(read({{name, "1"}}).signature, read({}).signature) << "all ranks must have it";
  }
}

TEST(Options, ThoseOfCollectivesThatPassThroughAnywayAreKnownAndChangeNothing) {
  for (const char* name : {"ALLTOALLW"}) {
    const std::string variable = std::string("HCOLL_ML_DISABLE_") + name;
    SCOPED_TRACE(variable);
    const auto* option = std::ranges::find(kOptions, variable, &Option<Options>::name);
    ASSERT_NE(option, std::end(kOptions));
    EXPECT_TRUE(option->is_hidden) << "the page of options has it among those without effect";
    EXPECT_EQ(read({{variable, "1"}}).why, "");
    EXPECT_EQ((std::array<bool, coll::kKinds>{}), options_with({{variable, "1"}}).options.disabled);
  }
}

TEST(Options, APrimitiveThatAnotherOneStandsInForIsARemarkAndNoError) {
  const Read queues = read({{"HCOLL_SBGP", "basesmuma,p2p"}, {"HCOLL_BCOL", "basesmuma,cc"}});
  EXPECT_EQ(queues.status, SUMAC_TEAM_OK);
  EXPECT_NE(queues.why.find("\"ucx_p2p\" stands in for \"cc\""), std::string::npos) << queues.why;
  EXPECT_EQ(queues.signature, read({{"HCOLL_SBGP", "basesmuma,p2p"}}).signature) << "only the levels count";
  const Read both = read({{"HCOLL_SBGP", "basesmuma,ibnet"}, {"SUMAC_TUNING_FILE", "/nowhere/tuning.json"}});
  EXPECT_NE(both.why.find("\"p2p\" stands in for \"ibnet\""), std::string::npos) << both.why;
  EXPECT_NE(both.why.find("; /nowhere/tuning.json: no such file"), std::string::npos) << both.why;
}

TEST(Options, ATuningFileThatIsNotUsedIsARemarkAndNoError) {
  const TestFolder folder("options");
  const std::string path = folder.file("tuning.json");
  const Read missing = read({{"SUMAC_TUNING_FILE", path}});
  EXPECT_EQ(missing.status, SUMAC_TEAM_OK);
  EXPECT_NE(missing.why.find("no such file"), std::string::npos) << missing.why;

  ASSERT_TRUE(save_tuning(path, {"another machine", {}}));
  const Read foreign = read({{"SUMAC_TUNING_FILE", path}});
  EXPECT_EQ(foreign.status, SUMAC_TEAM_OK);
  EXPECT_NE(foreign.why.find("another machine"), std::string::npos) << foreign.why;
  EXPECT_NE(foreign.why.find("built-in"), std::string::npos) << foreign.why;

  std::ofstream(path) << "{\"sumac_tuning\": 1, \"cont";
  EXPECT_NE(read({{"SUMAC_TUNING_FILE", path}}).why.find("half-written"), std::string::npos);

  const auto here = machine::discover();
  ASSERT_TRUE(here) << here.error().context;
  ASSERT_TRUE(save_tuning(path, {machine::fingerprint(*here), {{"barrier", 2, false, 0, "flat"}}}));
  const Read good = read({{"SUMAC_TUNING_FILE", path}});
  EXPECT_EQ(good.why, "");
  EXPECT_EQ(good.status, SUMAC_TEAM_OK);
}

std::vector<std::string>& said() {
  static std::vector<std::string> sentences;
  return sentences;
}

TEST(Options, MistypedNamesAreNamed) {
  const Environment environment({{"SUMAC_SHM_BARIER", "flat"},
                                 {"SUMAC_TEAM_DEPTH", "2"},
                                 {"SUMAC_EXPLAN", "1"},
                                 {"SUMAC_ENABL", "0"},
                                 {"SUMAC_LASTLINE", "1"},
                                 {"SUMAC_TRANSPROT", "tcp"},
                                 {"SUMAC_VERBOSE", "1"},
                                 {"SUMAC_COLL_WAITT", "1"},
                                 {"SUMAC_NODE_NAM", "a"}});
  said().clear();
  sumac_team_options_check([](const char* sentence) { said().push_back(sentence); });
  std::sort(said().begin(), said().end());
  EXPECT_EQ(said(), (std::vector<std::string>{"unknown variable SUMAC_ENABL: did you mean SUMAC_ENABLE?",
                                              "unknown variable SUMAC_EXPLAN: did you mean SUMAC_EXPLAIN?",
                                              "unknown variable SUMAC_LASTLINE: did you mean SUMAC_LAST_LINE?",
                                              "unknown variable SUMAC_SHM_BARIER: did you mean SUMAC_SHM_BARRIER?",
                                              "unknown variable SUMAC_TRANSPROT: did you mean SUMAC_TRANSPORT?",
                                              "unknown variable SUMAC_VERBOSE"}));
}

TEST(Options, NamesCanBeListed) {
  std::size_t count = 0;
  bool has_sbgp = false;
  for (const char* name; (name = sumac_team_variable(count)) != nullptr; ++count)
    has_sbgp = has_sbgp || std::string_view(name) == "HCOLL_SBGP";
  EXPECT_EQ(count, std::size(kOptions));
  EXPECT_TRUE(has_sbgp);
}

}  // namespace
}  // namespace sumac::team
