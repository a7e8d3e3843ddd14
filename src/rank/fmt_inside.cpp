// libfmt's functions for libraries that have the C++ runtime inside (sumac_guest): Debian has no archive of them, and the
// shared libfmt needs the shared runtime. Everything else of Sumac is compiled for the shared libfmt and finds here what it
// would find there. Compiled with -fkeep-inline-functions, so that functions without a caller in this file exist too; those
// that are templates are named.
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

template fmt::detail::dragonbox::decimal_fp<float> fmt::detail::dragonbox::to_decimal(float);
template fmt::detail::dragonbox::decimal_fp<double> fmt::detail::dragonbox::to_decimal(double);
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl(fmt::detail::locale_ref);
