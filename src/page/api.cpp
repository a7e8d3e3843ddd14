#include "page/api.hpp"

#include <algorithm>
#include <charconv>
#include <random>

#include "page/assets.hpp"

namespace sumac::page {
namespace {

using http::Request;
using http::Response;
using nlohmann::json;

constexpr const char* kRoot = "/api/v1/";
constexpr std::size_t kAnswersKept = 64;
constexpr std::size_t kTextMax = 100;
constexpr std::uint64_t kJobsAtOnce = 500, kOffsetMax = 1'000'000'000;

/// Adds the headers of every answer. They tell the browser: no script but the page's own files, no other site may hold the page in a
/// frame or read its answers.
void protect(Response& response) {
  response.headers.insert(
      response.headers.end(),
      {{"Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"},
       {"X-Content-Type-Options", "nosniff"},
       {"X-Frame-Options", "DENY"},
       {"Referrer-Policy", "no-referrer"},
       {"Cross-Origin-Opener-Policy", "same-origin"},
       {"Cross-Origin-Resource-Policy", "same-origin"}});
}

/// Names come from other processes, and invalid UTF-8 must not throw here.
std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

Response error(int status, const std::string& words) {
  return {.status = status, .type = "application/json", .body = text_of({{"error", words}}) + "\n"};
}

std::string query_of(const Request& request, const char* name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? std::string() : found->second;
}

/// Returns the number `name` of the query, or `otherwise` if it has none; nothing if it is not from 0 to `most`.
std::optional<std::uint64_t> number_in(const Request& request, const char* name, std::uint64_t otherwise,
                                       std::uint64_t most) {
  const auto text = query_of(request, name);
  if (!request.query.contains(name)) return otherwise;
  std::uint64_t number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || at != text.data() + text.size() || number > most) return std::nullopt;
  return number;
}

const struct {
  const char* name;
  JobOrder order;
} kOrders[] = {{"id", JobOrder::id},
               {"age", JobOrder::age},
               {"osts", JobOrder::osts},
               {"hosts", JobOrder::hosts},
               {"user", JobOrder::user}};

/// Returns the query, or the words of its error.
tl::expected<JobQuery, std::string> job_query(const Request& request) {
  JobQuery query;
  for (const auto& [name, value] : request.query)
    if (name != "offset" && name != "limit" && name != "sort" && name != "descending" && name != "q")
      return tl::unexpected<std::string>("the query has offset, limit, sort, descending and q only");
  const auto offset = number_in(request, "offset", 0, kOffsetMax),
             limit = number_in(request, "limit", 100, kJobsAtOnce), descending = number_in(request, "descending", 0, 1);
  if (!offset || !limit || !descending)
    return tl::unexpected(
        fmt::format("offset is a number, limit one from 0 to {}, and descending 0 or 1", kJobsAtOnce));
  query.offset = *offset;
  query.limit = *limit;
  query.descending = *descending == 1;
  query.text = query_of(request, "q");
  if (query.text.size() > kTextMax) return tl::unexpected(fmt::format("q has more than {} bytes", kTextMax));
  const auto sort = request.query.contains("sort") ? query_of(request, "sort") : "age";
  const auto* row = std::ranges::find_if(kOrders, [&](const auto& one) { return one.name == sort; });
  if (row == std::end(kOrders)) return tl::unexpected<std::string>("sort is one of id, age, osts, hosts, user");
  query.order = row->order;
  return query;
}

std::string draw_life() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

Response asset(const Request& request) {
  const auto all = assets();
  const auto found = std::ranges::find_if(all, [&](const Asset& one) { return one.path == request.path; });
  if (found == all.end()) return error(404, "there is no such page");
  Response response{.type = std::string(found->type),
                    .headers = {{"Cache-Control", "no-cache"}, {"ETag", std::string(found->tag)}}};
  if (request.header("If-None-Match") == found->tag)
    response.status = 304;
  else
    response.body = std::string(found->text);
  return response;
}

}  // namespace

Api::Api(const Guard& guard, Tokens& tokens, Model& model, std::function<bool()> fresh)
    : guard_(guard), tokens_(tokens), model_(model), fresh_(std::move(fresh)), life_(draw_life()) {}

Response Api::respond(const Request& request) {
  const bool has_data = request.path == "/api" || request.path.starts_with("/api/");
  auto response = [&] {
    if (auto no = guard_.refuses(request, has_data)) return *std::move(no);
    if (!has_data) return asset(request);
    const auto given = request.header("Authorization").value_or("");
    constexpr std::string_view kBearer = "Bearer ";
    const auto viewer = given.starts_with(kBearer)
                            ? tokens_.holder(std::string_view(given).substr(kBearer.size()), monotonic_now())
                            : std::nullopt;
    if (!viewer) {
      auto no = error(401, "send a token of sumac page as: Authorization: Bearer TOKEN");
      no.headers.emplace_back("WWW-Authenticate", "Bearer");
      return no;
    }
    return data(request, *viewer);
  }();
  if (has_data) response.headers.emplace_back("Cache-Control", "no-store");
  protect(response);
  return response;
}

/// Makes an answer once for all clients who may see the same, and not at all for one who has it already.
Response Api::shared(const Request& request, const Viewer& viewer, const std::string& version,
                     const std::function<json()>& make) {
  const auto tag = fmt::format("\"{}-{}\"", life_, version);
  Response response{.type = "application/json", .headers = {{"ETag", tag}}};
  if (request.header("If-None-Match") == tag) {
    response.status = 304;
    return response;
  }
  auto key = fmt::format("{} {} {}", viewer.everything, viewer.uid.value_or(0), request.path);
  for (const auto& [name, value] : request.query)
    key += fmt::format(" {}:{} {}:{}", name.size(), name, value.size(), value);
  auto found = kept_.find(key);
  if (found == kept_.end() || found->second.tag != tag) {
    if (kept_.size() >= kAnswersKept) kept_.clear();
    found = kept_.insert_or_assign(key, Kept{tag, text_of(make())}).first;
  }
  response.body = found->second.body;
  return response;
}

Response Api::data(const Request& request, const Viewer& viewer) {
  if (!request.path.starts_with(kRoot)) return error(404, "the API is /api/v1/: see /openapi.json");
  const auto name = request.path.substr(std::string_view(kRoot).size());
  const bool is_job = name.starts_with("jobs/");
  const bool is_known = is_job || name == "overview" || name == "fabric" || name == "state" || name == "jobs" ||
                        name == "events" || name == "users" || name == "search";
  if (!is_known) return error(404, "there is no such address: see /openapi.json");
  if (!request.query.empty() && name != "jobs" && name != "search") return error(400, "this address takes no query");
  if (!fresh_()) return error(503, "the manager is ending, or its loop stands still");
  const auto& version = model_.now.version;
  const auto by_state = fmt::format("s{}.{}.{}", version.state, version.fabric, version.sharpds);
  const auto plain = [](const json& value) { return Response{.type = "application/json", .body = text_of(value)}; };
  if (name == "overview") return plain(overview(model_, viewer, monotonic_now()));
  if (name == "fabric")
    return shared(request, viewer, fmt::format("f{}", version.fabric), [&] { return fabric(model_); });
  if (name == "state") return shared(request, viewer, by_state, [&] { return state(model_, viewer); });
  if (name == "events")
    return shared(request, viewer, fmt::format("e{}", version.events), [&] { return events(model_, viewer); });
  if (name == "users") return shared(request, viewer, by_state, [&] { return users(model_, viewer); });
  if (name == "jobs") {
    const auto query = job_query(request);
    if (!query) return error(400, query.error());
    return shared(request, viewer, by_state, [&] { return jobs(model_, viewer, *query); });
  }
  if (name == "search") {
    const auto text = query_of(request, "q");
    if (text.empty() || text.size() > kTextMax || request.query.size() != 1)
      return error(400, fmt::format("give q, 1 to {} bytes, and nothing else", kTextMax));
    return plain(search(model_, viewer, text));
  }
  std::uint64_t id = 0;
  const auto digits = std::string_view(name).substr(5);
  const auto [at, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (wrong != std::errc{} || at != digits.data() + digits.size())
    return error(400, "a job's id is a number, as sharp_cmd jobs shows it");
  auto found = job(model_, viewer, JobId{id});
  if (!found) return error(404, "no such job runs, or it is another user's");
  return shared(request, viewer, fmt::format("{}.e{}", by_state, version.events), [&] { return *std::move(found); });
}

}  // namespace sumac::page
