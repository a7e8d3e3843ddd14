// Feeds any bytes as the name in a certificate, as PEM, and as an endpoint.
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "control/endpoint.hpp"
#include "control/pki.hpp"

SUMAC_FUZZ(names) {
  using namespace sumac;
  using namespace sumac::control;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto who = parse_uri(text)) {
    fuzz::must(to_uri(*who) == text, "a name is written as it was read");
    fuzz::must(is_certificate_name(who->name), "and is legal");
  }
  const auto view = view_certificate(text);
  fuzz::must(view ? !view->who.empty() : !view.error().context.empty(),
             "a certificate says for whom, or there is a reason");
  const auto legal = check_endpoint(text, false);
  fuzz::must(!legal || is_unix(text), "clear text over TCP needs leave");
  fuzz::must(!check_endpoint(text, false) || check_endpoint(text, true), "leave allows no less");
  return 0;
}
