// Ten thousand communicators in one job: the manager learns of none of them, and nothing of them remains anywhere.
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.hpp"
#include "bench/control/cases.hpp"
#include "client/world/test_daemons.hpp"
#include "client/world/test_ranks.hpp"
#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"

namespace sumac::bench {
namespace {

using namespace client::test;

/// The messages of begin and end and the nodes' acknowledgements, with a margin: no number that grows with the
/// communicators.
constexpr std::uint64_t kMessagesOfAJob = 20;

Result<nlohmann::json> status_of(const std::string& endpoint) {
  const auto channel = control::make_channel(endpoint);
  if (!channel) return within("status", channel.error());
  const auto stub = control::v1::Manager::NewStub(*channel);
  grpc::ClientContext context;
  control::v1::StatusReply reply;
  if (const auto status = stub->Status(&context, {}, &reply); !status.ok())
    return within("status", control::from_status(status));
  return nlohmann::json::parse(reply.json());
}

/// Returns the resident bytes of our children of that name.
std::uint64_t resident(const std::string& name) {
  std::uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat"), memory(entry.path() / "statm");
    std::string pid, comm, state;
    pid_t parent = 0;
    std::uint64_t all = 0, pages = 0;
    if (stat >> pid >> comm >> state >> parent && parent == ::getpid() && comm == "(" + name + ")" &&
        memory >> all >> pages)
      sum += pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  return sum;
}

}  // namespace

Result<> communicators(const std::string&, const Scale& scale, Report& report) {
  Daemons daemons({.leaves = {"leaf1", "leaf2"}});
  RanksConfig config;
  for (std::size_t host = 0; host < daemons.hosts(); ++host) config.sockets.push_back(daemons.socket_of(host));
  config.limit = std::chrono::seconds(600);
  const auto job = [&](std::size_t count) -> Result<> {
    const auto id = new_job_id();
    const auto ended = run_ranks(config, [&](Rank& rank) {
      auto* context = rank.init(id);
      for (std::size_t i = 0; i < count; ++i) RANK_EQUAL(sharp_coll_comm_destroy(rank.comm(context)), 0);
      RANK_EQUAL(sharp_coll_finalize(context), 0);
    });
    if (const auto text = complaint(ended); !text.empty()) return fail(Errc::internal, "{}\n{}", text, daemons.log());
    return {};
  };
  const auto manager = "unix:" + daemons.dir() + "/am.sock";
  const auto fresh = status_of(manager);
  if (!fresh) return tl::unexpected(fresh.error());
  // A job that has ended is held until its nodes have reported that nothing of it is left there, which takes a moment.
  const auto settled = [&]() -> Result<nlohmann::json> {
    for (const Time end = monotonic_now() + Seconds(10);; ::poll(nullptr, 0, 5)) {
      auto now = status_of(manager);
      if (!now || monotonic_now() > end) return now;
      if ((*now)["jobs"].empty() && (*now)["osts_free"] == (*fresh)["osts_free"]) return now;
    }
  };
  // These jobs fill caches and arenas; if a hundred times longer one adds to that, it is a leak. A node keeps what each of its 512 group
  // numbers once needed, and a job has a tenth of them.
  for (int jobs = 0; jobs < 12; ++jobs)
    if (auto warm = job(scale.comms / 100); !warm) return warm;
  auto before = settled();
  if (!before) return tl::unexpected(before.error());
  const auto nodes = resident("sharp_an"), sharpds = resident("sharpd"), managers = resident("sharp_am");
  if (auto done = job(scale.comms); !done) return done;
  auto after = settled();
  if (!after) return tl::unexpected(after.error());

  std::size_t violations = 0;
  const auto check = [&](bool good, const std::string& what) {
    if (good) return;
    ++violations;
    fmt::print(stderr, "control-bench: comms: {}\n", what);
  };
  const auto heard = (*after)["messages"].get<std::uint64_t>() - (*before)["messages"].get<std::uint64_t>();
  check(heard <= kMessagesOfAJob, fmt::format("{} messages to the manager for {} communicators", heard, scale.comms));
  check((*after)["jobs"].empty() && (*after)["osts_free"] == (*fresh)["osts_free"],
        "the manager still holds something");
  for (const auto& [name, was] : {std::pair{"sharp_an", nodes}, {"sharpd", sharpds}, {"sharp_am", managers}})
    check(resident(name) <= was + scale.growth, fmt::format("{} grew from {} to {} bytes", name, was, resident(name)));
  report.add("comms-10k", "violations", static_cast<double>(violations), 0, scale.comms);
  if (violations != 0) return fail(Errc::internal, "{} violations", violations);
  return {};
}

}  // namespace sumac::bench
