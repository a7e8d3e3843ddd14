#include "tools/manager_status.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"
#include "tools/up/place.hpp"

namespace sumac::tools {

Result<nlohmann::json> ask_manager(const std::string& endpoint) {
  if (const auto legal = control::check_endpoint(endpoint, true); !legal) return tl::unexpected(legal.error());
  const auto tls = control::Tls::of_environment();
  if (!tls) return tl::unexpected(tls.error());
  const auto channel = control::make_channel(endpoint, tls->get());
  if (!channel)
    return within(fmt::format("no manager at {}: start sharp_am, or say where it is", endpoint), channel.error());
  const auto stub = control::v1::Manager::NewStub(*channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  control::v1::StatusReply reply;
  const auto status = stub->Status(&context, {}, &reply);
  if (!status.ok())
    return within(fmt::format("no manager at {}: start sharp_am, or say where it is", endpoint),
                  control::from_status(status));
  auto json = nlohmann::json::parse(reply.json(), nullptr, false);
  if (json.is_discarded())
    return fail(Errc::invalid, "the manager at {} sent an answer that is not JSON: is it sharp_am?", endpoint);
  return json;
}

std::string manager_of_environment() {
  if (const char* set = std::getenv("SUMAC_HOSTD_MANAGER"); set != nullptr && *set != '\0') return set;
  if (const auto up = manager_socket_of_up(); ::access(up.c_str(), F_OK) == 0) return "unix:" + up;
  return control::kManagerDefault;
}

}  // namespace sumac::tools
