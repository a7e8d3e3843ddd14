// The page of all options must have each, and every variable must belong to a program that the others know of.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/our_variables.hpp"
#include "base/types.hpp"
#include "client/options.hpp"
#include "hostd/config.hpp"
#include "manager/config.hpp"
#include "node/config.hpp"
#include "rank/settings.h"
#include "team/options.hpp"
#include "tests/config/document.hpp"

namespace sumac::tests {
namespace {

/// Returns the names of a table, hidden ones and aliases included.
template <class Config>
std::vector<std::string> all_names(std::span<const Option<Config>> table) {
  std::vector<std::string> result;
  append_names<Config>(table, result);
  return result;
}

TEST(Config, every_option_has_a_row_in_the_page) {
  const std::string page = config_markdown();
  std::size_t found = 0;
  const auto expect_rows = [&](const std::vector<std::string>& names) {
    for (const auto& name : names) {
      EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
      ++found;
    }
  };
  expect_rows(all_names<manager::Config>(manager::kOptions));
  expect_rows(all_names<node::Config>(node::kOptions));
  expect_rows(all_names<hostd::Config>(hostd::kOptions));
  expect_rows(all_names<client::ClientConfig>(client::client_options()));
  expect_rows(all_names<team::Options>(team::kOptions));
  for (std::size_t i = 0; i < hcoll_variable_count; ++i) expect_rows({hcoll_variables[i].name});
  for (const auto& variable : loose_variables()) expect_rows({std::string(variable.name)});
  EXPECT_GT(found, 200U);
}

TEST(Types, the_page_has_a_row_for_each_type_and_a_cell_for_each_pair) {
  std::istringstream page(types_markdown());
  int legal_pairs = 0, cells = 0, rows = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| ")) continue;
    unsigned type = 0;
    while (type < kDtypeCount && !line.starts_with(fmt::format("| {} | {} | {} |", to_string(static_cast<Dtype>(type)),
                                                               type, width(static_cast<Dtype>(type)))))
      ++type;
    if (type == kDtypeCount) continue;
    ++rows;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      legal_pairs += word == "yes";
      cells += word == "yes" || word == "no";
    }
  }
  EXPECT_EQ(rows, static_cast<int>(kDtypeCount));
  EXPECT_EQ(cells, static_cast<int>(kDtypeCount * kOpCount));
  EXPECT_EQ(legal_pairs, 8 * 12 + 4 * 6);
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
