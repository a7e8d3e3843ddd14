#pragma once
// A snapshot as JSON for one viewer: pure. Each function makes the answer of one address of the API (web/openapi.json).
// A job of a user whom the viewer may not see appears in totals only.
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "page/snapshot.hpp"
#include "page/viewer.hpp"

namespace sumac::page {

/// The newest snapshot with the parts of former ones that did not change, and what only the page knows.
struct Model {
  Snapshot now;
  std::string manager_version;
  Time started{};
  std::int64_t origin_unix_ms = 0;  ///< The wall clock at Time{0}.
  std::function<std::string(std::uint32_t uid)> user_name;

  /// Takes the new snapshot over.
  void take(Snapshot next);
  std::int64_t unix_ms(Time time) const;
};

enum class JobOrder { id, age, osts, hosts, user };

/// The part of a list that was asked for.
struct JobQuery {
  std::size_t offset = 0, limit = 100;
  JobOrder order = JobOrder::age;
  bool descending = false;
  std::string text;  ///< Only jobs whose id, number, user or holder contains this.
};

nlohmann::json overview(const Model& model, const Viewer& viewer, Time now);
nlohmann::json fabric(const Model& model);
nlohmann::json state(const Model& model, const Viewer& viewer);
nlohmann::json jobs(const Model& model, const Viewer& viewer, const JobQuery& query);
/// Nothing: there is no such job, or the viewer may not see it; the two look the same.
std::optional<nlohmann::json> job(const Model& model, const Viewer& viewer, JobId id);
nlohmann::json events(const Model& model, const Viewer& viewer);
nlohmann::json users(const Model& model, const Viewer& viewer);
nlohmann::json search(const Model& model, const Viewer& viewer, const std::string& text);

}  // namespace sumac::page
