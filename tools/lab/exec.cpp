// `sumac lab exec`, `rsh`, `status`, `link`, `daemon`, `down`: short requests to a lab that is up.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "lab/client.hpp"
#include "tools/lab/lab.hpp"
#include "tools/lab/name.hpp"

namespace sumac::tools {

std::optional<std::string> take_name(Arguments& arguments) {
  if (arguments.size() >= 2 && arguments[0] == "--name") {
    auto name = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
    return name;
  }
  if (const char* name = std::getenv("SUMAC_LAB"); name != nullptr && *name != '\0') return std::string(name);
  return std::nullopt;
}

namespace {

int run(const std::optional<std::string>& name, const std::string& host, Arguments command) {
  const auto status = lab::run_in_place(name, host, lab::command_from_here(std::move(command)));
  return status ? *status : complain(status.error().context, 125);
}

void print_status(const nlohmann::json& lab) {
  fmt::print("lab {} ({}), parent pid {}\n", lab["name"].get<std::string>(), lab["fabric"].get<std::string>(),
             lab["pid"].get<int>());
  for (const auto& place : lab["places"]) {
    const bool several = place["ports"].size() > 1;
    for (const auto& port : place["ports"])
      fmt::print("  {:8} {:12} {:15} at {}{}\n", place["kind"].get<std::string>(), place["name"].get<std::string>(),
                 port["address"].get<std::string>(), port["at"].get<std::string>(),
                 several ? " by " + port["device"].get<std::string>() : "");
  }
  for (const auto& daemon : lab["daemons"]) {
    fmt::print("  daemon   {} on {}, pid {}{}\n", daemon["name"].get<std::string>(), daemon["place"].get<std::string>(),
               daemon["pid"].get<int>(), daemon["alive"].get<bool>() ? "" : ": " + daemon["end"].get<std::string>());
  }
  for (const auto& link : lab["links"]) {
    const auto loss = link["loss"].get<double>();
    if (link["frames"].get<std::uint64_t>() == 0 && loss == 0) continue;
    fmt::print("  link     {} -> {}{}: {} frames, {} bytes, {} dropped, {} lost, at most {} bytes waiting\n",
               link["from"].get<std::string>(), link["to"].get<std::string>(),
               loss == 1  ? " (down)"
               : loss > 0 ? fmt::format(" (loses {})", loss)
                          : "",
               link["frames"].get<std::uint64_t>(), link["bytes"].get<std::uint64_t>(),
               link["dropped"].get<std::uint64_t>(), link["lost"].get<std::uint64_t>(),
               link["backlog_bytes_max"].get<std::uint64_t>());
  }
  fmt::print("  drops    {}\n", lab["drops"].get<std::uint64_t>());
}

}  // namespace

int lab_exec(const Arguments& arguments) {
  auto rest = arguments;
  const auto name = take_name(rest);
  if (rest.size() < 2 || (rest[1] == "--" && rest.size() < 3) || rest[0].starts_with("-")) {
    return complain("lab exec: usage: sumac lab exec [--name N] HOST -- COMMAND...", 2);
  }
  const auto host = rest[0];
  rest.erase(rest.begin(), rest.begin() + (rest[1] == "--" ? 2 : 1));
  return run(name, host, rest);
}

int lab_rsh(const Arguments& arguments) {
  auto rest = arguments;
  const auto name = take_name(rest);
  // ssh's options behind the host, as charmrun has them, say nothing here.
  while (rest.size() > 2 && rest[1].starts_with("-")) {
    const bool has_value = rest[1] == "-l" || rest[1] == "-o" || rest[1] == "-p";
    rest.erase(rest.begin() + 1, rest.begin() + (has_value ? 3 : 2));
  }
  if (rest.size() < 2) return complain("lab rsh: usage: sumac lab rsh HOST [SSH OPTIONS] COMMAND...", 2);
  std::string line;  // rsh joins its words, and a shell splits them again.
  for (std::size_t i = 1; i < rest.size(); ++i) line += (i == 1 ? "" : " ") + rest[i];
  return run(name, rest[0], {"/bin/sh", "-c", line});
}

int lab_status(const Arguments& arguments) {
  auto rest = arguments;
  const bool json = std::erase(rest, "--json") > 0;
  const auto name = take_name(rest);
  if (!rest.empty()) return complain(fmt::format("lab status: '{}' is not understood", rest[0]), 2);
  const auto status = lab::ask_status(name);
  if (!status) return complain(status.error().context);
  if (json) {
    fmt::print("{}", *status);
  } else {
    print_status(nlohmann::json::parse(*status));
  }
  return 0;
}

int lab_down(const Arguments& arguments) {
  auto rest = arguments;
  const auto name = take_name(rest);
  if (!rest.empty()) return complain(fmt::format("lab down: '{}' is not understood", rest[0]), 2);
  const auto gone = lab::request(name, "down");
  return gone ? 0 : complain(gone.error().context);
}

namespace {

/// Passes the words of `lab KIND` on to the lab, which judges them.
int change(const char* kind, const Arguments& arguments, std::size_t words_min) {
  auto rest = arguments;
  const auto name = take_name(rest);
  if (rest.size() < words_min || rest[0].starts_with("-"))
    return complain(fmt::format("lab {}: see `sumac lab help`", kind), 2);
  const auto changed = lab::request(name, fmt::format("{} {}", kind, fmt::join(rest, " ")));
  return changed ? 0 : complain(fmt::format("lab {}: {}", kind, changed.error().context));
}

}  // namespace

int lab_link(const Arguments& arguments) { return change("link", arguments, 3); }
int lab_daemon(const Arguments& arguments) { return change("daemon", arguments, 2); }

}  // namespace sumac::tools
