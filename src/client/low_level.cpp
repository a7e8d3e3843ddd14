// libsharp.so: the one name that build systems look for (include/sharp/api/sharp.h).
#pragma GCC visibility push(default)
#include <sharp/api/sharp.h>
#pragma GCC visibility pop

#include "client/options.hpp"
#include "client/session.hpp"

extern "C" int sharp_init_session(void) {
  using namespace sumac;
  try {
    Logger log(Logger::Form::low_level, client::log_level_from_environment());
    const auto config = client::load_client_config();
    if (!config) {
      SUMAC_ERROR(log, "{}", config.error().context);
      return SHARP_COLL_EINVAL;
    }
    wire::AttachBody alone;
    alone.world_size = 1;
    const auto session = client::Session::attach(config->sharpd_socket, alone, config->job_create_timeout);
    if (session) return 0;
    SUMAC_ERROR(log, "{}", session.error().text);
    return session.error().status;
  } catch (...) {
    return SHARP_COLL_ENOMEM;
  }
}
