#include "control/openssl.hpp"

#include <fmt/core.h>

#include <ctime>

namespace sumac::control {

std::string date_text(const ASN1_TIME* time) {
  std::tm when{};
  if (ASN1_TIME_to_tm(time, &when) != 1) return "an unknown date";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", when.tm_year + 1900, when.tm_mon + 1, when.tm_mday,
                     when.tm_hour, when.tm_min);
}

Result<Identity> identity_in(X509* certificate) {
  const Openssl<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const auto* text = name->d.uniformResourceIdentifier;
    return parse_uri({reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                      static_cast<std::size_t>(ASN1_STRING_length(text))});
  }
  return fail(Errc::invalid, "it names no role and name of Sumac's");
}

}  // namespace sumac::control
