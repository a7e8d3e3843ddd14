#include "page/api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "page/assets.hpp"

namespace sumac::page {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kNasty = "<img src=x onerror=alert(1)>\"'&\xff";

http::Request request_of(const std::string& path, std::map<std::string, std::string> headers,
                         std::map<std::string, std::string> query = {}, const std::string& method = "GET") {
  http::Request request{.method = method, .path = path, .query = std::move(query)};
  request.header = [headers](const char* name) -> std::optional<std::string> {
    const auto at = headers.find(name);
    return at == headers.end() ? std::nullopt : std::optional(at->second);
  };
  request.header_count = [headers](const char* name) { return headers.count(name); };
  return request;
}

std::string header_of(const http::Response& response, const std::string& name) {
  const auto at = std::ranges::find_if(response.headers, [&](const auto& one) { return one.first == name; });
  return at == response.headers.end() ? "" : at->second;
}

/// A page with three hosts, one node, and a job of each of two users.
constexpr const char* kHost = "drawn.localhost:9510";

class PageApi : public testing::Test {
 protected:
  PageApi() {
    auto view = std::make_shared<FabricView>();
    view->fabric.name = "test";
    view->fabric.switches = {"s1"};
    for (const auto* name : {"h1", "h2", kNasty}) {
      topo::Host host;
      host.name = name;
      host.leaf = "s1";
      view->fabric.hosts.push_back(host);
    }
    topo::Node node;
    node.name = "an1";
    node.place.at_switch = "s1";
    view->fabric.nodes = {node};
    TreeView tree;
    tree.shape.nodes.resize(1);
    tree.shape.leaf_of_host = {0, 0, 0};
    tree.shape.port_of_host = {0, 0, 0};
    view->trees = {tree};
    Snapshot snap;
    snap.version = {.state = 5, .fabric = 2, .sharpds = 1, .events = 2};
    snap.fabric = view;
    snap.sharpds = std::make_shared<const std::vector<bool>>(std::vector<bool>{true, true, false});
    snap.nodes = {
        {.registered = true,
         .pid = 1,
         .osts = 512,
         .groups = 512,
         .hop = {.frames = 90, .folds = 30, .repeats = 2, .sent = 40, .strangers = 1, .runs = 91, .run_ns = 45'500},
         .parts = {{.works = true, .osts = 60}}}};
    snap.trees = {{.complete = true, .nodes = 1, .osts = 60}};
    Events happened;
    for (std::uint64_t i = 1; i <= 2; ++i) {
      auto job = std::make_shared<JobView>();
      job->id = JobId{0xFFFFFFFFFFFFFFF0 + i};
      job->number = static_cast<std::uint32_t>(i);
      job->uid = static_cast<std::uint32_t>(1000 + i);
      job->holder = fmt::format("holder-of-{} {}", i, kNasty);
      job->quota.osts = 30;
      job->hosts = {0, static_cast<std::uint32_t>(i)};
      job->shares = {{.tree = 0, .nodes = {0}, .parents = {0}, .leaves = {0, 0}}};
      snap.jobs.push_back({.job = job, .granted = true});
      snap.users.push_back({.uid = job->uid, .jobs = 1, .osts = 30, .groups = 30});
      happened.push_back(std::make_shared<const Event>(Event{
          .id = i, .subject = fmt::format("secret-job-{}", i), .text = "runs", .owner = job->uid, .job = job->id}));
    }
    snap.events = std::make_shared<const Events>(happened);
    model.take(std::move(snap));
    model.user_name = [](std::uint32_t uid) { return fmt::format("name-of-{}", uid); };
    alice = tokens.issue("user 1001", {.everything = false, .uid = 1001}, monotonic_now()).value();
    root = tokens.issue("user 0", {.everything = true, .uid = 0}, monotonic_now()).value();
  }

  http::Response get(const std::string& path, const std::string& token, std::map<std::string, std::string> query = {},
                     std::map<std::string, std::string> more = {}) {
    more.emplace("Host", kHost);
    if (!token.empty()) more.emplace("Authorization", "Bearer " + token);
    return api.respond(request_of(path, more, std::move(query)));
  }
  json read(const std::string& path, const std::string& token, std::map<std::string, std::string> query = {}) {
    const auto response = get("/api/v1/" + path, token, std::move(query));
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body);
  }

  Guard guard{"127.0.0.1:9510", nullptr, "drawn.localhost"};
  Tokens tokens;
  Model model;
  int asked = 0;
  bool loop_answers = true;
  Api api{guard, tokens, model, [this] { return ++asked, loop_answers; }};
  std::string alice, root;
  const std::vector<std::pair<std::string, std::map<std::string, std::string>>> all = {
      {"overview", {}},
      {"fabric", {}},
      {"state", {}},
      {"jobs", {}},
      {"events", {}},
      {"users", {}},
      {"search", {{"q", "o"}}},
      {"jobs/18446744073709551602", {}}};
};

TEST_F(PageApi, an_operator_sees_all_and_a_user_his_own_jobs_and_totals) {
  EXPECT_EQ(read("jobs", root)["total"], 2);
  const auto own = read("jobs", alice);
  EXPECT_EQ(own["total"], 1);
  EXPECT_EQ(own["jobs"][0]["id"], "18446744073709551601") << "a string, because JavaScript would round the number";
  EXPECT_EQ(read("overview", alice)["jobs"]["running"], 2);
  EXPECT_EQ(read("overview", alice)["jobs"]["visible"], 1);
  EXPECT_EQ(read("state", alice)["nodes"][0]["trees"][0]["osts_granted"], 60);
  EXPECT_EQ(read("state", alice)["host_jobs"], json::parse("[[0,1],[1,1]]")) << "only where the own job runs";
  EXPECT_EQ(read("state", root)["host_jobs"], json::parse("[[0,2],[1,1],[2,1]]"));
  EXPECT_EQ(get("/api/v1/jobs/18446744073709551601", alice).status, 200);
  EXPECT_EQ(get("/api/v1/jobs/18446744073709551602", alice).body, get("/api/v1/jobs/1", alice).body)
      << "another user's job looks as if there were none";
  for (const auto& [path, query] : all) {
    const auto body = get("/api/v1/" + path, alice, query).body;
    for (const auto* foreign : {"secret-job-2", "holder-of-2", "name-of-1002",
                                "1844674407370955160"
                                "2"})
      EXPECT_THAT(body, Not(HasSubstr(foreign))) << path;
  }
}

TEST_F(PageApi, a_stranger_gets_no_data) {
  const struct {
    const char* name;
    std::map<std::string, std::string> headers;
    int status;
  } rows[] = {
      {"no token", {{"Host", kHost}}, 401},
      {"no such token", {{"Host", kHost}, {"Authorization", "Bearer " + std::string(64, 'a')}}, 401},
      {"another scheme", {{"Host", kHost}, {"Authorization", "Basic " + root}}, 401},
      {"a token in a cookie", {{"Host", kHost}, {"Cookie", "token=" + root}}, 401},
      {"a name that leads here", {{"Host", "evil.example:9510"}, {"Authorization", "Bearer " + root}}, 421},
      {"an address that others served before", {{"Host", "127.0.0.1:9510"}, {"Authorization", "Bearer " + root}}, 421},
      {"the name of an earlier manager", {{"Host", "other.localhost:9510"}, {"Authorization", "Bearer " + root}}, 421},
      {"a name that begins like ours",
       {{"Host", "drawn.localhost.evil.example"}, {"Authorization", "Bearer " + root}},
       421},
      {"a name behind brackets", {{"Host", "[::1]evil.example"}, {"Authorization", "Bearer " + root}}, 421},
      {"a port that is none", {{"Host", "drawn.localhost:x"}, {"Authorization", "Bearer " + root}}, 421},
      {"a port and more", {{"Host", "drawn.localhost:9510:1"}, {"Authorization", "Bearer " + root}}, 421},
      {"no Host", {{"Authorization", "Bearer " + root}}, 421},
      {"another site's page",
       {{"Host", kHost}, {"Authorization", "Bearer " + root}, {"Origin", "http://evil.example"}},
       403},
      {"another port's page",
       {{"Host", kHost}, {"Authorization", "Bearer " + root}, {"Origin", "http://drawn.localhost:80"}},
       403},
      {"a page without an origin", {{"Host", kHost}, {"Authorization", "Bearer " + root}, {"Origin", "null"}}, 403},
      {"a browser that says so",
       {{"Host", kHost}, {"Authorization", "Bearer " + root}, {"Sec-Fetch-Site", "cross-site"}},
       403},
  };
  for (const auto& row : rows)
    for (auto [path, query] : all) {
      SCOPED_TRACE(fmt::format("{}: {}", row.name, path));
      query["token"] = root;
      const auto response = api.respond(request_of("/api/v1/" + path, row.headers, query));
      EXPECT_EQ(response.status, row.status);
      for (const auto* data : {"h1", "an1", "s1", "name-of", "1844674407370955", "hosts"})
        EXPECT_THAT(response.body, Not(HasSubstr(data)));
    }
  EXPECT_EQ(asked, 0) << "the manager's loop is not woken by strangers";
}

TEST_F(PageApi, the_files_of_the_page_need_no_token_but_the_right_name) {
  const auto page = get("/", "");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.type, HasSubstr("text/html"));
  EXPECT_EQ(get("/", "", {}, {{"If-None-Match", header_of(page, "ETag")}}).status, 304);
  EXPECT_EQ(api.respond(request_of("/", {{"Host", "evil.example"}})).status, 421);
  EXPECT_EQ(get("/../../etc/passwd", "").status, 404);
  for (const auto& one : assets()) EXPECT_EQ(get(std::string(one.path), "").status, 200) << one.path;
  EXPECT_EQ(asked, 0);
}

TEST_F(PageApi, every_answer_protects_the_browser) {
  for (const auto& response : {get("/", ""), get("/api/v1/jobs", ""), get("/api/v1/jobs", root), get("/none", "")}) {
    const auto policy = header_of(response, "Content-Security-Policy");
    EXPECT_THAT(policy, HasSubstr("script-src 'self'"));
    EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
    EXPECT_EQ(header_of(response, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(header_of(response, "Access-Control-Allow-Origin"), "");
  }
  EXPECT_EQ(header_of(get("/api/v1/jobs", root), "Cache-Control"), "no-store");
}

TEST_F(PageApi, names_can_hold_anything) {
  const auto hosts = read("fabric", root)["hosts"];
  EXPECT_EQ(hosts[2]["name"], "<img src=x onerror=alert(1)>\"'&\xef\xbf\xbd");
  EXPECT_EQ(read("search", root, {{"q", "ONERROR"}})["found"][0]["kind"], "host");
}

TEST_F(PageApi, what_a_client_has_is_not_sent_again) {
  for (const auto* path : {"/api/v1/fabric", "/api/v1/state", "/api/v1/jobs", "/api/v1/events", "/api/v1/users"}) {
    const auto tag = header_of(get(path, root), "ETag");
    const auto again = get(path, root, {}, {{"If-None-Match", tag}});
    EXPECT_EQ(again.status, 304) << path;
    EXPECT_EQ(again.body, "");
  }
  const auto tag = header_of(get("/api/v1/state", root), "ETag");
  Snapshot next = model.now;
  ++next.version.state;
  model.take(std::move(next));
  EXPECT_EQ(get("/api/v1/state", root, {}, {{"If-None-Match", tag}}).status, 200);
}

TEST_F(PageApi, a_kept_answer_goes_to_nobody_else) {
  EXPECT_EQ(read("jobs", root)["total"], 2);
  EXPECT_EQ(read("jobs", alice)["total"], 1);
  EXPECT_EQ(read("jobs", root, {{"q", "holder-of-2"}})["total"], 1);
  EXPECT_EQ(read("jobs", root)["total"], 2);
}

TEST_F(PageApi, a_list_comes_in_parts_and_in_the_order_asked_for) {
  const auto part = read("jobs", root, {{"offset", "1"}, {"limit", "1"}, {"sort", "user"}, {"descending", "1"}});
  EXPECT_EQ(part["total"], 2);
  ASSERT_EQ(part["jobs"].size(), 1u);
  EXPECT_EQ(part["jobs"][0]["uid"], 1001);
  EXPECT_EQ(read("jobs", root, {{"offset", "99"}})["jobs"].size(), 0u);
}

TEST_F(PageApi, ten_thousand_jobs_are_a_list_in_parts) {
  const auto one = *model.now.jobs[0].job;
  for (std::uint64_t id = 1; id <= 10'000; ++id) {
    auto job = std::make_shared<JobView>(one);
    job->id = JobId{id};
    model.now.jobs.push_back({.job = job, .granted = true});
  }
  const auto response = get("/api/v1/jobs", root);
  EXPECT_LT(response.body.size(), 100'000u);
  EXPECT_EQ(json::parse(response.body)["total"], 10'002);
  EXPECT_EQ(read("jobs", root, {{"offset", "9902"}, {"limit", "500"}, {"sort", "id"}})["jobs"].size(), 100u);
  EXPECT_LE(read("search", root, {{"q", "1"}})["found"].size(), 100u);
}

TEST_F(PageApi, a_wrong_query_is_told) {
  const struct {
    const char* path;
    std::map<std::string, std::string> query;
  } rows[] = {{"jobs", {{"limit", "501"}}},
              {"jobs", {{"limit", "-1"}}},
              {"jobs", {{"sort", "size"}}},
              {"jobs", {{"page", "1"}}},
              {"search", {}},
              {"search", {{"q", std::string(101, 'x')}}},
              {"state", {{"q", "1"}}},
              {"jobs/xyz", {}},
              {"jobs", {{"offset", "99999999999999999999"}}}};
  for (const auto& row : rows) {
    const auto response = get(std::string("/api/v1/") + row.path, root, row.query);
    EXPECT_EQ(response.status, 400) << row.path;
    EXPECT_TRUE(json::parse(response.body).contains("error"));
  }
  EXPECT_EQ(api.respond(request_of("/", {{"Host", kHost}}, {}, "POST")).status, 405);
}

TEST_F(PageApi, a_loop_that_stands_still_is_reported) {
  loop_answers = false;
  EXPECT_EQ(get("/api/v1/jobs", root).status, 503);
}

}  // namespace
}  // namespace sumac::page
