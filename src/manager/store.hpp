#pragma once
// The journal in a file: SQLite with a write-ahead log, in a directory of its own. Everything written survives the
// death of the process at any instant. A file that is damaged, not ours or of another version is refused and left
// unchanged.
#include <functional>
#include <memory>
#include <string>

#include "manager/journal.hpp"

struct sqlite3;

namespace sumac::manager {

class Store final : public Journal {
 public:
  /// Raised when the meaning of a table changes; open() refuses any other version.
  static constexpr int kVersion = 1;
  static constexpr const char* kFileName = "sharp_am.state";

  /// Makes `directory` (0700) if its parent exists. Returns Errc::not_found: there is no such directory; denied: others
  /// may write to it; exists: another manager has it open; invalid: the file is damaged or not ours; unsupported: it
  /// has another version; io.
  static Result<Store> open(const std::string& directory);

  Result<SavedState> load() const;
  Result<> put(const JobRecord& job, Seconds age) override;
  Result<> remove(JobId job_id) override;
  Result<> set_trees(const std::string& fabric, const std::vector<SavedTree>& trees) override;
  Result<> keep(const KeptOsts& osts) override;
  Result<> release(const std::string& name) override;

  const std::string& path() const noexcept { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* db) const noexcept;
  };
  using Database = std::unique_ptr<sqlite3, Close>;
  Store(std::string path, Database db) : path_(std::move(path)), db_(std::move(db)) {}

  Result<> prepare();
  Result<> check_whole() const;
  Result<> load_kept(SavedState& saved) const;
  Result<> create();
  Result<> write(const std::function<Result<>()>& change);
  Result<> put_once(const JobRecord& job, Seconds age);
  Result<> set_trees_once(const std::string& fabric, const std::vector<SavedTree>& trees);

  std::string path_;
  Database db_;
};

}  // namespace sumac::manager
