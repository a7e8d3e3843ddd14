// Jobs begin and end while clients ask for the manager's page, and while they rest, in turns.
#include "bench/control/cases.hpp"
#include "bench/control/page_clients.hpp"
#include "bench/control/site.hpp"
#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"

namespace sumac::bench {
namespace {

constexpr std::size_t kClients = 20;
constexpr double kRatioMax = 1.2;

/// Begins and ends one job after the other, and adds the times of the begins.
Result<> begin_for(Fleet& fleet, std::size_t hosts, Duration time, std::vector<double>& times) {
  for (const Time until = monotonic_now() + time; monotonic_now() < until;) {
    auto& job = fleet.begin(times.size() * 37 % hosts, 32, 0, 0);
    const auto settled = [&] { return job.state == SimJob::State::held || job.state == SimJob::State::over; };
    if (!fleet.run_until(settled, kPatience) || job.state != SimJob::State::held)
      return fail(Errc::refused, "job {}: {}", job.id, job.refused);
    times.push_back(ms(job.granted_at - job.asked_at));
    fleet.end(job);
    if (!fleet.run_until([&] { return job.state == SimJob::State::over; }, kPatience))
      return fail(Errc::timeout, "job {} does not end", job.id);
    fleet.forget_over();
  }
  return {};
}

}  // namespace

Result<> page_clients(const std::string& am, const Scale& scale, Report& report) {
  auto site = Site::make(am, scale.hosts, {"--page-listen", "127.0.0.1:0"});
  if (!site) return tl::unexpected(site.error());
  const auto channel = control::make_channel((*site)->am.endpoint());
  if (!channel) return tl::unexpected(channel.error());
  control::v1::PageReply page;
  {
    grpc::ClientContext context;
    const auto status = control::v1::Manager::NewStub(*channel)->Page(&context, {}, &page);
    if (!status.ok()) return within("page", control::from_status(status));
  }
  const auto port = static_cast<std::uint16_t>(std::stoi(page.site().substr(page.site().rfind(':') + 1)));
  PageClients clients(port, page.name(), page.token(), kClients);
  std::vector<double> with, without, warm;
  if (auto done = begin_for((*site)->fleet, scale.hosts, scale.page_block / 2, warm); !done) return done;
  for (std::size_t block = 0; block < 2 * scale.page_blocks; ++block) {
    const bool asks = block % 2 == 1;
    clients.rest(!asks);
    if (auto done = begin_for((*site)->fleet, scale.hosts, scale.page_block, asks ? with : without); !done) return done;
  }
  clients.rest(true);
  if (const auto failure = clients.failure(); !failure.empty()) return fail(Errc::refused, "{}", failure);
  const auto answers = clients.answers();
  if (answers < scale.page_blocks * kClients)
    return fail(Errc::timeout, "only {} answers came to {} clients", answers, kClients);
  fmt::print("{:24} {:>12.3f} ms without, {:.3f} ms with {} clients, who got {} answers\n", "", median(without),
             median(with), kClients, answers);
  report.add("page-job-begin", "ratio", median(with) / median(without), kRatioMax, with.size());
  return (*site)->verdict();
}

}  // namespace sumac::bench
