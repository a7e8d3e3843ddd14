#include "lab/holder.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory>
#include <sstream>

#include "base/clock.hpp"
#include "lab/channel.hpp"
#include "lab/daemon.hpp"
#include "lab/packet_switch.hpp"
#include "lab/place.hpp"
#include "lab/status.hpp"

namespace sumac::lab {

namespace {

constexpr Duration kReadyPatience = Seconds{30};
constexpr Duration kEndPatience = Seconds{2};
constexpr std::size_t kClientsMax =
    256;  ///< Connections without a request yet; the number is well below the descriptors that a process may have.

Result<> write_file(const char* path, std::string_view text) {
  const UniqueFd fd{::open(path, O_WRONLY | O_CLOEXEC)};
  if (!fd || ::write(fd.get(), text.data(), text.size()) < 0) return fail_errno(path);
  return {};
}

/// Moves into a new network namespace, which will hold the switch's ends; through a user namespace if this process has
/// no right to make one. Returns whether it had the right.
Result<bool> leave_the_machines_network() {
  if (::unshare(CLONE_NEWNET) == 0) return true;
  const auto uid = ::geteuid();
  const auto gid = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
    return fail(Errc::denied,
                "make network namespaces: {}: run as root, or permit user namespaces (sysctl "
                "kernel.unprivileged_userns_clone, user.max_user_namespaces)",
                std::strerror(errno));
  }
  for (const auto& [path, text] : {std::pair("/proc/self/setgroups", std::string("deny")),
                                   std::pair("/proc/self/uid_map", fmt::format("0 {} 1", uid)),
                                   std::pair("/proc/self/gid_map", fmt::format("0 {} 1", gid))}) {
    if (auto ok = write_file(path, text); !ok) return tl::unexpected(ok.error());
  }
  return false;
}

class Lab {
 public:
  Lab(const topo::Fabric& fabric, const LabOptions& options, UniqueFd report)
      : fabric_(fabric), options_(options), plan_(make_plan(fabric)), report_(std::move(report)) {}
  ~Lab() { end(); }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  Result<> begin() {
    auto listener = listen_at(control_name(options_.name));
    if (!listener) {
      if (listener.error().code != Errc::exists) return tl::unexpected(listener.error());
      return fail(Errc::exists, "a lab {} is up already: `sumac lab down --name {}` first, or give --name",
                  options_.name, options_.name);
    }
    listener_ = std::move(*listener);
    catch_signals();
    std::vector<DaemonSpec> wanted;
    if (options_.daemons) {
      auto listed = list_daemons(fabric_, plan_, options_);
      if (!listed) return tl::unexpected(listed.error());
      wanted = std::move(*listed);
    }
    auto privileged = leave_the_machines_network();
    if (!privileged) return tl::unexpected(privileged.error());
    // IPv6 is turned off; place.cpp gives the reason
    (void)write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    if (auto ok = make_places(*privileged, wanted); !ok) return ok;
    if (auto ok = make_switch(); !ok) return ok;
    if (!wanted.empty()) {
      if (auto ok = start_daemons(wanted); !ok) return ok;
    }
    say("ready");
    if (!options_.foreground) report_.reset();
    return {};
  }

  void serve() {
    while (!ending_) turn();
  }

  void say(const std::string& line) {
    const auto text = line + "\n";
    if (!report_) return;
    [[maybe_unused]] const auto n =
        ::write(report_.get(), text.data(), text.size());  // the reader is gone: poll reports that as a hang-up
  }

 private:
  void catch_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int n : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::sigaddset(&set, n);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    signals_ = UniqueFd{::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
  }

  /// These certificates prove the identity of a namespace's daemons and people.
  Result<PlaceFiles> certificates(const Place& place, const std::vector<DaemonSpec>& wanted) const {
    if (wanted.empty() || !options_.certify) return PlaceFiles{};
    Identities all{{"admin", "lab"}};
    for (const auto& daemon : wanted)
      if (daemon.place == place.name) all.push_back(daemon.identity);
    return options_.certify(all);
  }

  Result<> make_places(bool privileged, const std::vector<DaemonSpec>& wanted) {
    auto netlink = Netlink::open();
    if (!netlink) return tl::unexpected(netlink.error());
    PlaceOptions options;
    options.shared_directories = options_.shared_directories;
    options.privileged = privileged;
    for (std::size_t i = 0; i < plan_.places.size(); ++i) {
      const auto& place = plan_.places[i];
      auto files = certificates(place, wanted);
      if (!files) return within(place.name, files.error());
      options.tls_files = *std::move(files);
      const auto host = std::ranges::find(fabric_.hosts, place.name, &topo::Host::name);
      const bool is_host = host != fabric_.hosts.end();
      options.shm_bytes = is_host ? host->shm_bytes : 0;
      options.tmp_bytes = is_host ? host->tmp_bytes : 0;
      auto running = start_place(plan_, i, options);
      if (!running) return tl::unexpected(running.error());
      places_.push_back(std::move(*running));
      const UniqueFd its_network{
          ::open(fmt::format("/proc/{}/ns/net", places_.back().pid).c_str(), O_RDONLY | O_CLOEXEC)};
      if (!its_network) return fail_errno(fmt::format("open the network namespace of {}", place.name));
      for (const auto& port : plan_.ports_of(place))
        if (auto ok = make_device(*netlink, port, its_network.get()); !ok) return within(place.name, ok.error());
    }
    return {};
  }

  /// One end of the pair is the namespace's device, the other one the switch's.
  Result<> make_device(Netlink& netlink, const Port& port, int its_network) {
    const auto ours = fmt::format("p{}", device_index_.size());
    Mac switch_mac = port.mac;
    switch_mac[3] = 1;
    if (auto ok = netlink.make_veth({ours, switch_mac}, {port.device, port.mac}, its_network, plan_.mtu_bytes); !ok)
      return ok;
    if (!plan_.offload) {
      if (auto ok = disable_segmentation_offloads(ours); !ok) return ok;
    }
    if (auto ok = netlink.set_up(ours); !ok) return ok;
    device_index_.push_back(::if_nametoindex(ours.c_str()));
    return {};
  }

  Result<> make_switch() {
    auto made = PacketSwitch::open(plan_, device_index_);
    if (!made) return tl::unexpected(made.error());
    switch_ = std::move(*made);
    if (auto ok = switch_->start(); !ok) return ok;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (auto ok = connect_place(places_[i]); !ok)
        return within(fmt::format("place {}", plan_.places[i].name), ok.error());
      const auto& place = plan_.places[i];
      const char* kind = place.kind == PlaceKind::host ? "host" : place.kind == PlaceKind::node ? "node" : "manager";
      std::string where;
      for (const auto& port : plan_.ports_of(place)) {
        const auto device = place.port_count > 1 ? port.device + " " : "";
        where += fmt::format("{}{}{} at {}", where.empty() ? " " : ", ", device, ip_text(port.ip), port.at);
      }
      say(fmt::format("+ {} {}{}", kind, place.name, where));
    }
    say(fmt::format("+ switch for {} links, mtu {}, segmentation offload {}, {}", plan_.links.size() / 2,
                    plan_.mtu_bytes, plan_.offload ? "on" : "off",
                    switch_->realtime() ? "at real-time priority"
                                        : "without real-time priority (not permitted: delays are less exact)"));
    return {};
  }

  RunningPlace& running_place(const Place& place) {
    return places_[static_cast<std::size_t>(&place - plan_.places.data())];
  }

  Result<> start_daemons(std::vector<DaemonSpec>& wanted) {
    auto logs = make_log_directory(options_.name);
    if (!logs) return tl::unexpected(logs.error());
    logs_made_ = true;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& running = running_place(*find_place(plan_, wanted[i].place));
      auto daemon = Daemon::launch(wanted[i], running.channel.get(), *logs, O_TRUNC);
      if (!daemon) return within(wanted[i].name, daemon.error());
      daemons_.push_back(std::move(*daemon));
      // The manager must listen before the others connect to it; they then become ready side by side.
      if (i > 0) continue;
      if (auto ok = await_ready(daemons_.back()); !ok) return ok;
    }
    for (std::size_t i = 1; i < daemons_.size(); ++i) {
      if (auto ok = await_ready(daemons_[i]); !ok) return ok;
    }
    specs_ = std::move(wanted);
    return {};
  }

  Result<> await_ready(Daemon& daemon) {
    const auto until = monotonic_now() + kReadyPatience;
    while (!daemon.is_ready()) {
      pollfd fds[] = {{daemon.ready_fd(), POLLIN, 0},
                      {daemon.connection(), POLLIN, 0},
                      {signals_.get(), POLLIN, 0},
                      {report_.get(), 0, 0}};
      const auto left = std::chrono::ceil<Millis>(until - monotonic_now()).count();
      if (left <= 0)
        return daemon.blame(
            fmt::format("is not ready after {} s", std::chrono::duration_cast<Seconds>(kReadyPatience).count()));
      if (::poll(fds, 4, static_cast<int>(left)) < 0 && errno != EINTR) return fail_errno("poll");
      if (fds[2].revents != 0) hear_signals();
      if (ending_ || fds[3].revents != 0) return fail(Errc::interrupted, "interrupted");
      if (fds[0].revents != 0) daemon.hear_ready();
      if (fds[1].revents != 0) daemon.hear();
      if (!daemon.status().alive) return daemon.blame("ended before it was ready");
    }
    say(fmt::format("+ {} on {} pid {}", daemon.status().name, daemon.status().place, daemon.status().pid));
    return {};
  }

  void turn() {
    std::vector<pollfd> fds{{signals_.get(), POLLIN, 0}, {report_.get(), 0, 0}, {listener_.get(), POLLIN, 0}};
    for (const auto& place : places_) fds.push_back({place.listener.get(), POLLIN, 0});
    for (const auto& daemon : daemons_) {
      fds.push_back({daemon.connection(), POLLIN, 0});
      fds.push_back({daemon.ready_fd(), POLLIN, 0});
    }
    for (const auto& client : clients_) fds.push_back({client.get(), POLLIN, 0});
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) ending_ = true;
    auto at = fds.begin();
    if ((at++)->revents != 0) hear_signals();
    if ((at++)->revents != 0 && options_.foreground) ending_ = true;  // the reader of `up --foreground` is gone
    std::vector<int> accepting;
    for (std::size_t i = 0; i < 1 + places_.size(); ++i, ++at) {
      if (at->revents != 0) accepting.push_back(at->fd);
    }
    for (auto& daemon : daemons_) {
      if ((at++)->revents != 0) daemon.hear();
      if ((at++)->revents != 0) daemon.hear_ready();
    }
    answer_waiting();
    for (auto client = clients_.begin(); client != clients_.end(); ++at) {
      if (at->revents == 0) {
        ++client;
      } else {
        answer(std::move(*client));
        client = clients_.erase(client);
      }
    }
    for (const int fd : accepting) accept_client(fd);
  }

  void hear_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) > 0) {
      if (info.ssi_signo != SIGCHLD) {
        ending_ = true;
        continue;
      }
      for (auto& place : places_) {
        if (place.pid > 0 && ::waitpid(place.pid, nullptr, WNOHANG) == place.pid) {
          place.pid = -1;
          ending_ = true;  // a lab that lost a namespace cannot go on
        }
      }
    }
  }

  void accept_client(int listener) {
    UniqueFd client{::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)};
    if (!client) return;
    ucred peer{};
    socklen_t bytes = sizeof peer;
    if (::getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0) return;
    if (peer.uid != ::geteuid() && peer.uid != 0) {
      (void)send_message(client.get(), "failed the lab is another user's");
      return;
    }
    // the oldest client has sent no request, since each is answered at once
    if (clients_.size() >= kClientsMax) clients_.pop_front();
    clients_.push_back(std::move(client));
  }

  /// Answers the one request of a connection; `exec` hands the connection over to the namespace.
  void answer(UniqueFd client) {
    auto request = receive_message(client.get());
    if (!request) return;
    const auto& text = request->text;
    Result<> result;
    if (text == "status") {
      result = send_status(client.get());
    } else if (text == "down") {
      ending_ = true;
      farewell_.push_back(std::move(client));
      return;
    } else if (text.starts_with("exec ") && request->fds.size() == 4) {
      result = exec(text.substr(5), client.get(), request->fds);
    } else if (text.starts_with("link ")) {
      if (result = change_link(text.substr(5)); result) result = send_message(client.get(), "ok");
    } else if (text.starts_with("daemon ")) {
      result = change_daemon(text.substr(7), client);
    } else {
      result = fail(Errc::invalid, "the lab does not know the request '{:.40}'", text);
    }
    if (!result) (void)send_message(client.get(), "failed " + result.error().context);
  }

  Result<> exec(const std::string& name, int client, const std::vector<UniqueFd>& fds) {
    const auto* place = find_place(plan_, name);
    if (place == nullptr) {
      std::string known;
      for (const auto& each : plan_.places) known += (known.empty() ? "" : ", ") + each.name;
      return fail(Errc::not_found, "there is no host {:.80} in lab {}: it has {}", name, options_.name, known);
    }
    return send_message(running_place(*place).channel.get(), "exec",
                        {client, fds[0].get(), fds[1].get(), fds[2].get(), fds[3].get()});
  }

  /// "A B up", "A B down" or "A B loss P".
  Result<> change_link(const std::string& words) {
    std::istringstream in(words);
    std::string a, b, what;
    in >> a >> b >> what;
    if (what == "up") return switch_->set_loss(a, b, {});
    if (what == "down") return switch_->set_loss(a, b, 1.0);
    double loss = 0;
    if (what != "loss" || !(in >> loss) || !(loss >= 0 && loss <= 1))
      return fail(Errc::invalid, "link {:.80}: up, down, or loss and a number from 0 to 1", words);
    return switch_->set_loss(a, b, loss);
  }

  /// "NAME stop", "NAME cont", "NAME kill" or "NAME start". Who asks for the last two hears when it is gone or ready.
  Result<> change_daemon(const std::string& words, UniqueFd& client) {
    const auto space = words.find(' ');
    const auto name = words.substr(0, space);
    const auto what = space == std::string::npos ? "" : words.substr(space + 1);
    std::size_t at = 0;
    while (at < specs_.size() && specs_[at].called != name) ++at;
    if (at == specs_.size()) {
      std::string known;
      for (const auto& spec : specs_) known += (known.empty() ? "" : ", ") + spec.called;
      return fail(Errc::not_found, "lab {} has no daemon {:.80}: it has {}", options_.name, name,
                  known.empty() ? "none" : known);
    }
    auto& daemon = daemons_[at];
    if (what == "start") {
      if (daemon.status().alive)
        return fail(Errc::exists, "{} runs already, pid {}", daemon.status().name, daemon.status().pid);
      auto again = Daemon::launch(specs_[at], running_place(*find_place(plan_, specs_[at].place)).channel.get(),
                                  log_directory(options_.name), 0);
      if (!again) return tl::unexpected(again.error());
      daemon = std::move(*again);
      waiting_.push_back({std::move(client), at, true});
      return {};
    }
    const int number = what == "stop" ? SIGSTOP : what == "cont" ? SIGCONT : what == "kill" ? SIGKILL : 0;
    if (number == 0) return fail(Errc::invalid, "daemon {:.80}: stop, cont, kill or start", words);
    if (!daemon.status().alive) return fail(Errc::not_found, "{} does not run: start it first", daemon.status().name);
    daemon.signal(number);
    if (number != SIGKILL) return send_message(client.get(), "ok");
    waiting_.push_back({std::move(client), at, false});
    return {};
  }

  void answer_waiting() {
    std::erase_if(waiting_, [&](const Waiting& each) {
      const auto& daemon = daemons_[each.daemon];
      const bool alive = daemon.status().alive;
      if (alive && (!each.is_start || !daemon.is_ready())) return false;
      const bool failed = each.is_start && !alive;
      (void)send_message(each.client.get(),
                         failed ? "failed " + daemon.blame("ended before it was ready").value().context : "ok");
      return true;
    });
  }

  Result<> send_status(int client) {
    std::vector<DaemonStatus> daemons;
    for (const auto& daemon : daemons_) daemons.push_back(daemon.status());
    const auto text = status_json(options_.name, options_.fabric_file, fabric_, plan_, *switch_, daemons);
    const UniqueFd file{::memfd_create("status", MFD_CLOEXEC)};
    if (!file || ::write(file.get(), text.data(), text.size()) < 0) return fail_errno("write the status");
    return send_message(client, "ok", {file.get()});
  }

  void end() {
    for (auto& daemon : daemons_) {
      daemon.signal(SIGTERM);
      daemon.signal(SIGCONT);  // It may have been stopped.
    }
    const auto until = monotonic_now() + kEndPatience;
    for (auto& daemon : daemons_) {
      while (daemon.status().alive) {
        pollfd fd{daemon.connection(), POLLIN, 0};
        const auto left = std::chrono::ceil<Millis>(until - monotonic_now()).count();
        if (left <= 0 || ::poll(&fd, 1, static_cast<int>(left)) <= 0) break;
        daemon.hear();
      }
    }
    for (const auto& place : places_) {
      if (place.pid > 0) ::kill(place.pid, SIGKILL);
    }
    for (const auto& place : places_) {
      if (place.pid > 0) ::waitpid(place.pid, nullptr, 0);
    }
    places_.clear();
    switch_.reset();
    std::error_code ignored;  // logs that cannot be removed may stay
    if (logs_made_) std::filesystem::remove_all(log_directory(options_.name), ignored);
    listener_.reset();
    for (const auto& client : farewell_) (void)send_message(client.get(), "ok");
  }

  const topo::Fabric& fabric_;
  const LabOptions& options_;
  Plan plan_;
  UniqueFd report_;
  UniqueFd listener_;
  UniqueFd signals_;
  std::vector<RunningPlace> places_;
  std::vector<unsigned> device_index_;
  std::unique_ptr<PacketSwitch> switch_;
  std::vector<Daemon> daemons_;
  std::vector<DaemonSpec> specs_;  ///< [daemon]: how it was started.
  struct Waiting {
    UniqueFd client;
    std::size_t daemon;
    bool is_start;  ///< It waits until the daemon is ready, not until it is gone.
  };
  std::vector<Waiting> waiting_;
  std::list<UniqueFd> clients_;
  std::vector<UniqueFd> farewell_;
  bool logs_made_ = false;
  bool ending_ = false;
};

}  // namespace

std::string control_name(const std::string& lab_name) { return fmt::format("sumac-lab/{}/{}", ::geteuid(), lab_name); }

std::vector<std::string> running_labs() {
  const auto prefix = "@" + control_name("");
  std::vector<std::string> names;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const auto at = line.find(prefix);
    // Flags 00010000: the socket listens; accepted connections have the same name.
    if (at != std::string::npos && line.find(" 00010000 ") != std::string::npos)
      names.push_back(line.substr(at + prefix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

int hold_lab(const topo::Fabric& fabric, const LabOptions& options, UniqueFd report) {
  ::prctl(PR_SET_NAME, "sumac-lab");
  Lab lab(fabric, options, std::move(report));
  if (auto ok = lab.begin(); !ok) {
    lab.say("! " + ok.error().context);
    return 1;
  }
  lab.serve();
  return 0;
}

}  // namespace sumac::lab
