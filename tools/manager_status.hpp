#pragma once
// Reads sharp_am's report about itself: the JSON of its Status call.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace sumac::tools {

/// Errc::lost, timeout: no manager answers at `endpoint` (ADDR:PORT or unix:PATH).
Result<nlohmann::json> ask_manager(const std::string& endpoint);

/// The page of a manager: its address and a token for the caller.
struct PageAddress {
  std::string site, name, token;
  std::uint64_t life_s = 0;
  bool is_operator = false;
};
/// Errc::lost, timeout: no manager answers. Errc::invalid: it serves no page. Errc::denied: nothing proves who we are.
Result<PageAddress> ask_for_page(const std::string& endpoint);

/// OSTs that are kept for a user's jobs on some hosts. Without hosts: what is kept under the name is released.
struct Reservation {
  std::string name;
  std::vector<std::string> hosts;
  std::uint32_t uid = 0, osts = 0;
};
/// The error is the manager's, or Errc::lost, timeout: none answers.
Result<> reserve(const std::string& endpoint, const Reservation& asked);

/// Guesses the manager's address: SUMAC_HOSTD_MANAGER, else the manager that `sumac up` started, else sharp_am's own
/// default.
std::string manager_of_environment();

}  // namespace sumac::tools
