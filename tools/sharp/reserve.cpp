#include "tools/sharp/reserve.hpp"

#include <fmt/core.h>
#include <pwd.h>

#include <charconv>
#include <map>
#include <optional>

#include "base/tell.hpp"
#include "tools/manager_status.hpp"
#include "tools/run/host_list.hpp"

namespace sumac::tools {
namespace {

std::optional<std::uint32_t> number_in(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint32_t> user_in(const std::string& text) {
  if (const auto number = number_in(text)) return number;
  const passwd* user = ::getpwnam(text.c_str());
  return user == nullptr ? std::nullopt : std::optional(user->pw_uid);
}

int ask(const std::string& manager, const Reservation& asked) {
  if (auto done = reserve(manager, asked); !done) {
    tell("sharp_cmd: {}", done.error().context);
    return 1;
  }
  fmt::print("{} {}\n", asked.hosts.empty() ? "released" : "reserved", asked.name);
  return 0;
}

}  // namespace

int wrong_usage(const std::string& why) {
  tell("sharp_cmd: {}: see sharp_cmd --help", why);
  return 2;
}

int reserve_command(const std::vector<std::string>& words, std::string manager) {
  std::map<std::string, std::string> options{{"--hosts", ""}, {"--user", ""}, {"--osts", ""}, {"--manager", manager}};
  Reservation asked;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const auto option = options.find(words[i]); option != options.end()) {
      if (++i == words.size()) return wrong_usage(words[i - 1] + " needs a value");
      option->second = words[i];
    } else if (asked.name.empty() && !words[i].starts_with("-")) {
      asked.name = words[i];
    } else {
      return wrong_usage(fmt::format("'{}' is not understood", words[i]));
    }
  }
  const auto hosts = parse_host_list(options["--hosts"]);
  const auto user = user_in(options["--user"]), osts = number_in(options["--osts"]);
  if (asked.name.empty()) return wrong_usage("reserve needs a name");
  if (!hosts) return wrong_usage("--hosts: " + hosts.error().context);
  if (!user) return wrong_usage(fmt::format("--user '{}' is no user", options["--user"]));
  if (!osts) return wrong_usage(fmt::format("--osts '{}' is no number", options["--osts"]));
  for (const auto& host : *hosts) asked.hosts.push_back(host.name);
  asked.uid = *user;
  asked.osts = *osts;
  return ask(options["--manager"], asked);
}

int release_command(const std::vector<std::string>& words, std::string manager) {
  if (words.size() == 3 && words[1] == "--manager") manager = words[2];
  if (words.empty() || words[0].starts_with("-") ||
      (words.size() != 1 && (words.size() != 3 || words[1] != "--manager")))
    return wrong_usage("write `sharp_cmd release NAME`");
  return ask(manager, {.name = words[0], .hosts = {}});
}

}  // namespace sumac::tools
