#include "rank/local_job.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <vector>

#include "base/text.hpp"
#include "net/address.hpp"
#include "rank/words.hpp"

namespace sumac::rank {
namespace {

/// The daemons come up within this time, and within half of what the group has left: where they do not, the hosts must still
/// find another way.
constexpr Duration kUpWithin = Seconds{60};

/// The ranks that come first on their hosts, by host.
std::vector<int> firsts(const Members& members) {
  std::vector<int> ranks(static_cast<std::size_t>(members.hosts), -1);
  for (int rank = members.size() - 1; rank >= 0; --rank)
    ranks[members.all[static_cast<std::size_t>(rank)].place.host] = rank;
  return ranks;
}

/// The names of the hosts in the job's fabric: their own where these are such names, and no two are the same.
std::vector<std::string> names(const Members& members) {
  const auto is_name = [](const std::string& text) {
    const auto may_be = [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_'; };
    return !text.empty() && text.size() <= 50 && std::ranges::all_of(text, may_be);
  };
  std::vector<std::string> found;
  std::set<std::string> taken;
  for (const int rank : firsts(members)) {
    std::string name = members.all[static_cast<std::size_t>(rank)].host;
    if (!is_name(name) || taken.contains(name)) name = fmt::format("host-of-rank-{}", rank);
    taken.insert(name);
    found.push_back(std::move(name));
  }
  return found;
}

/// A folder of that name may be "executed", too.
bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

Result<std::string> sumac_program() {
  std::vector<std::string> places;
  if (const char* home = std::getenv("SUMAC_HOME"); home != nullptr && *home != '\0')
    places.push_back(std::string(home) + "/bin");
  if (const char* path = std::getenv("PATH")) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) places.push_back(folder.empty() ? "." : folder);
  }
  for (const auto& place : places)
    if (const auto program = place + "/sumac"; is_program(program)) return program;
  return fail(Errc::not_found, "there is no `sumac` in SUMAC_HOME/bin or on the PATH");
}

Result<launch::Child> started(const char* command) {
  auto program = sumac_program();
  if (!program) return tl::unexpected(program.error());
  return launch::Child::start(*program, command);
}

Result<std::string> own_address() {
  const char* device = std::getenv("SUMAC_NET_DEVICE");
  auto address = net::device_address(device == nullptr ? "" : device, AF_UNSPEC);
  if (!address) return tl::unexpected(address.error());
  return net::host_of(net::format_address(*address));
}

/// The lines of `text` that begin with `prefix`.
std::string lines_of(const std::string& text, const std::string& prefix) {
  std::istringstream lines(text);
  std::string found;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(prefix)) found += line + "\n";
  return found;
}

}  // namespace

std::string requests_of(const std::string& text, const std::string& host, bool has_node) {
  auto found = lines_of(text, fmt::format("csr/host-{}.csr ", host));
  if (has_node) found += lines_of(text, fmt::format("csr/node-node-{}.csr ", host));
  return found;
}

/// Takes `step` at the ranks that lead, which returns text. The first host at which it has failed, if any has, gives the reason to
/// all: then the result is nothing.
template <class Step>
Result<std::optional<std::string>> LocalJob::together(Exchange& exchange, const Members& members, bool leads,
                                                      const Step& step) {
  const Result<std::string> own = leads ? step() : std::string();
  auto all = exchange.allgather(bytes_of_text(own ? "" : own.error().context));
  if (!all) return tl::unexpected(all.error());
  for (int rank = 0; rank < members.size(); ++rank) {
    const std::string reason = printable(text_of((*all)[static_cast<std::size_t>(rank)]));
    if (reason.empty()) continue;
    why_not_ = fmt::format("{}: {}", members.name(rank), reason);
    return std::nullopt;
  }
  return own ? std::optional(*own) : std::nullopt;
}

Result<LocalJob> LocalJob::start(Exchange& exchange, const Members& members) {
  LocalJob job;
  const auto hosts = names(members);
  const auto first = firsts(members);
  const std::size_t own = members.all[static_cast<std::size_t>(members.rank)].place.host;
  const bool leads = first[own] == members.rank;
  const bool has_node = own == 0;
  const Time deadline = deadline_after(monotonic_now(), std::min(kUpWithin, exchange.left() / 2));
  /// Writes to a child, and reads what it says before `word`.
  const auto talk = [&](launch::Child& child, const std::string& text, const char* word) -> Result<std::string> {
    if (auto written = child.write(text + "go\n"); !written) return tl::unexpected(written.error());
    return child.read_until(word, deadline, [&exchange] { return exchange.check(); });
  };

  // 1. Each host asks for its certificates.
  const auto asks = job.together(exchange, members, leads, [&]() -> Result<std::string> {
    auto child = started("run-host");
    if (!child) return tl::unexpected(child.error());
    job.host_ = *std::move(child);
    std::string text = launch::Child::parent_line() + fmt::format("host {}\nkeys 1\n", hosts[own]);
    if (has_node) text += fmt::format("node node-{}\n", hosts[own]);
    return talk(job.host_, text, "asks");
  });
  if (!asks) return tl::unexpected(asks.error());
  if (!*asks) return job;
  auto asked = exchange.gather(0, bytes_of_text(**asks));
  if (!asked) return tl::unexpected(asked.error());

  // 2. Rank 0's manager answers.
  const auto answers = job.together(exchange, members, members.rank == 0, [&]() -> Result<std::string> {
    auto child = started("run-manager");
    if (!child) return tl::unexpected(child.error());
    auto address = own_address();
    if (!address) return tl::unexpected(address.error());
    job.manager_ = *std::move(child);
    std::string text = launch::Child::parent_line() + fmt::format("address {}\nnodes 1\n", *address);
    for (const auto& host : hosts) text += fmt::format("host {}\n", host);
    for (std::size_t host = 0; host < hosts.size(); ++host)
      text += requests_of(text_of((*asked)[static_cast<std::size_t>(first[host])]), hosts[host], host == 0);
    return talk(job.manager_, text, "up");
  });
  if (!answers) return tl::unexpected(answers.error());
  if (!*answers) return job;
  auto answered = exchange.bcast(0, bytes_of_text(**answers));
  if (!answered) return tl::unexpected(answered.error());

  // 3. The hosts start their daemons, and their other ranks learn where.
  const auto socket = job.together(exchange, members, leads, [&]() -> Result<std::string> {
    const std::string all = text_of(*answered);
    std::string text = lines_of(all, "manager ") + lines_of(all, "tls/ca.crt ") +
                       lines_of(all, fmt::format("tls/host-{}.crt ", hosts[own]));
    if (has_node) text += lines_of(all, fmt::format("tls/node-node-{}.crt ", hosts[own]));
    auto lines = talk(job.host_, text, "up");
    if (!lines) return lines;
    constexpr std::string_view kKey = "socket ";
    const std::string line = lines_of(*lines, std::string(kKey));
    if (line.size() <= kKey.size() + 1) return fail(Errc::invalid, "`sumac run-host` names no socket");
    return line.substr(kKey.size(), line.size() - kKey.size() - 1);
  });
  if (!socket) return tl::unexpected(socket.error());
  if (!*socket) return job;
  auto sockets = exchange.allgather(bytes_of_text(**socket));
  if (!sockets) return tl::unexpected(sockets.error());
  job.socket_ = text_of((*sockets)[static_cast<std::size_t>(first[own])]);
  return job;
}

void LocalJob::forget() noexcept {
  host_.forget();
  manager_.forget();
}

}  // namespace sumac::rank
