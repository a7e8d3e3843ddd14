#pragma once
// Prints findings for people, in 80 columns. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "tools/doctor/compare.hpp"

namespace sumac::tools::doctor {

/// The page of one host: a row for each check, with the remedy below where there is one.
std::string page_of_host(const Findings& findings);

/// The page of several hosts: a row for each check and a column for each host (with many hosts: the rows that are not
/// alike, and the names of the hosts), then the comparison, then what was found on which hosts.
std::string page_of_hosts(const std::vector<HostAnswer>& hosts, const Findings& between);

/// Breaks a text into lines of at most `width` columns; words in `backticks` stay together where they fit.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace sumac::tools::doctor
