// A program may make hundreds of communicators with the same choices: one table says it for all of them.
#pragma once
#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sumac::team {

/// Remembers the tables that a process has printed, and for which communicator. Any number of threads may use it.
class PrintedTables {
 public:
  /// A table has about 5 KB. After so many different ones every further table is new each time.
  static constexpr std::size_t kCountMax = 16;

  /// Returns the name of the communicator for which an equal table was printed. If there is none, it remembers this
  /// table under `name` and returns nothing.
  std::optional<std::string> same_as(const std::string& name, std::string table) {
    const std::lock_guard guard(mutex_);
    const auto found = std::ranges::find(tables_, table, &Printed::table);
    if (found != tables_.end()) return found->name;
    if (tables_.size() < kCountMax) tables_.push_back({name, std::move(table)});
    return std::nullopt;
  }

 private:
  struct Printed {
    std::string name, table;
  };
  std::mutex mutex_;
  std::vector<Printed> tables_;
};

}  // namespace sumac::team
