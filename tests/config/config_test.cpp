// The page of all options must be up to date, and every variable must belong to a program that the others know of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/our_variables.hpp"
#include "client/options.hpp"
#include "hostd/config.hpp"
#include "manager/config.hpp"
#include "node/config.hpp"
#include "rank/settings.h"
#include "team/options.hpp"
#include "tests/config/document.hpp"

namespace sumac::tests {
namespace {

TEST(Config, the_page_shows_these_tables) {
  const std::string path = std::string(SUMAC_SOURCE_DIR) + "/docs/config.md";
  const std::string now = config_markdown();
  if (std::getenv("SUMAC_UPDATE_DOCS") != nullptr) std::ofstream(path) << now;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), now) << "stale: `make docs`, or SUMAC_UPDATE_DOCS=1 config_test, writes it anew";
}

template <class Config>
std::vector<std::string> names(std::span<const Option<Config>> table) {
  std::vector<std::string> result;
  append_names<Config>(table, result);
  std::erase_if(result, [](const std::string& name) { return !name.starts_with("SUMAC_"); });
  return result;
}

TEST(Config, every_variable_of_ours_belongs_to_somebody) {
  const struct {
    const char* prefix;
    std::vector<std::string> names;
  } programs[] = {{"SUMAC_AM_", names<manager::Config>(manager::kOptions)},
                  {"SUMAC_NODE_", names<node::Config>(node::kOptions)},
                  {"SUMAC_HOSTD_", names<hostd::Config>(hostd::kOptions)},
                  {"SUMAC_COLL_", names<client::ClientConfig>(client::client_options())}};
  const auto prefixes = program_prefixes();
  const auto extra = client_variables();
  std::set<std::string> seen;
  for (const auto& program : programs) {
    EXPECT_EQ(std::count(prefixes.begin(), prefixes.end(), program.prefix), 1) << program.prefix;
    for (const auto& name : program.names) {
      EXPECT_TRUE(seen.insert(name).second) << name << " is declared by two programs";
      EXPECT_TRUE(name.starts_with(program.prefix) || std::count(extra.begin(), extra.end(), name) == 1)
          << name << ": give it the prefix " << program.prefix << ", or name it in src/base/our_variables.cpp";
    }
  }
  for (const auto name : extra) EXPECT_EQ(seen.count(std::string(name)), 1u) << name << " is gone from the library";
}

TEST(Config, teams_have_prefixes_of_their_own) {
  const auto extra = team_variables();
  for (const auto& name : names<team::Options>(team::kOptions))
    EXPECT_TRUE(name.starts_with("SUMAC_SHM_") || name.starts_with("SUMAC_TEAM_") ||
                std::count(extra.begin(), extra.end(), name) == 1)
        << name << ": give it the prefix SUMAC_TEAM_, or name it in src/base/our_variables.cpp";
}

TEST(Config, the_tree_knows_the_variables_of_the_bindings) {
  const auto known = team_variables();
  for (std::size_t i = 0; i < hcoll_variable_count; ++i) {
    const std::string name = hcoll_variables[i].name;
    EXPECT_TRUE(!name.starts_with("SUMAC_") || std::count(known.begin(), known.end(), name) == 1)
        << name << ": name it in src/base/our_variables.cpp, or a job with a tree warns about it";
  }
}

}  // namespace
}  // namespace sumac::tests
