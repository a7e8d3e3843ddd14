#include "tools/top/scrape.hpp"

#include <httplib.h>

namespace sumac::tools::top {
namespace {

constexpr time_t kPatienceSeconds = 2;
/// A node in 64 trees serves 300 KiB.
constexpr std::size_t kPageBytesMax = 4 << 20;

}  // namespace

Result<std::string> scrape(const std::string& endpoint, const Access& access) {
  const bool is_unix = endpoint.starts_with("unix:");
  const bool has_scheme = endpoint.find("://") != std::string::npos;
  const auto where = is_unix ? endpoint.substr(5) : has_scheme ? endpoint : "http://" + endpoint;
  httplib::Client client = is_unix ? httplib::Client(where, 80) : httplib::Client(where);
  if (!client.is_valid()) return fail(Errc::invalid, "not HOST:PORT, https://HOST:PORT or unix:PATH");
  if (is_unix) client.set_address_family(AF_UNIX);
  if (!access.ca.empty()) client.set_ca_cert_path(access.ca);
  if (!access.token.empty()) client.set_bearer_token_auth(access.token);
  client.set_connection_timeout(kPatienceSeconds);
  client.set_read_timeout(kPatienceSeconds);
  // The other end may have changed hands: it gets no second request and no endless answer of ours.
  client.set_follow_location(false);
  std::string page;
  const auto answer = client.Get("/metrics", [&](const char* bytes, std::size_t count) {
    page.append(bytes, count);
    return page.size() <= kPageBytesMax;
  });
  if (!answer && answer.error() == httplib::Error::Connection)
    return fail(Errc::lost, "nobody listens there: start the daemon with --metrics-listen, or correct the address");
  if (!answer) return fail(Errc::lost, "no answer ({})", httplib::to_string(answer.error()));
  if (answer->status == 401) return fail(Errc::denied, "it wants a token: --token FILE");
  if (answer->status != 200) return fail(Errc::invalid, "no metrics there (HTTP status {})", answer->status);
  return page;
}

}  // namespace sumac::tools::top
