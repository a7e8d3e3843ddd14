#pragma once
// The content of build/control.json: a list of {"case", "unit", "sumac", "limit", "trials"}, and with another manager to
// compare with {"before", "over_before"}.
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.hpp"

namespace sumac::bench {

class Report {
 public:
  enum class Holds { at_most, at_least };

  void add(const std::string& name, const std::string& unit, double value, double limit, std::size_t trials,
           Holds holds = Holds::at_most) {
    rows_.push_back({{"case", name}, {"unit", unit}, {"sumac", value}, {"limit", limit}, {"trials", trials}});
    const bool kept = holds == Holds::at_most ? value <= limit : value >= limit;
    fmt::print("{:24} {:>12.3f} {:8} {} {:>10.0f}  {} trials{}\n", name, value, unit,
               holds == Holds::at_most ? "at most " : "at least", limit, trials, kept ? "" : "   NOT KEPT");
    std::fflush(stdout);
  }
  /// Adds to each row the same case's number from the other manager's rows, and our number by it.
  void compare(const Report& other) {
    for (auto& row : rows_)
      for (const auto& before : other.rows_) {
        if (before["case"] != row["case"]) continue;
        const double ours = row["sumac"], theirs = before["sumac"];
        row["before"] = theirs;
        row["over_before"] = theirs != 0 ? nlohmann::json(ours / theirs) : nlohmann::json();
        fmt::print("{:24} {:>12.3f} {:8} before {:.3f}, {:.2f} x before\n", row["case"].get<std::string>(), ours,
                   row["unit"].get<std::string>(), theirs, theirs != 0 ? ours / theirs : 0);
      }
  }
  Result<> write(const std::string& path) const {
    std::ofstream file(path);
    file << rows_.dump(2) << "\n";
    if (!file.flush()) return fail(Errc::io, "{}: can't be written", path);
    return {};
  }

 private:
  nlohmann::json rows_ = nlohmann::json::array();
};

}  // namespace sumac::bench
