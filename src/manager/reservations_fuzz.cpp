// Feeds any bytes as a file of reservations.
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "manager/policy.hpp"

SUMAC_FUZZ(reservations) {
  using namespace sumac;
  const auto parsed = manager::Reservations::parse({reinterpret_cast<const char*>(data), size});
  if (!parsed) {
    fuzz::must(parsed.error().context.starts_with("line "), "a refusal names the line");
    return 0;
  }
  fuzz::must(parsed->on(), "a file that was read is in force");
  fuzz::must(!parsed->covering({"\n"}, 0), "no reservation covers a host that none can name");
  return 0;
}
