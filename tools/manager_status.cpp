#include "tools/manager_status.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>

#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"
#include "tools/up/place.hpp"

namespace sumac::tools {

namespace {

Error no_manager(const std::string& endpoint, const Error& why) {
  return within(fmt::format("no manager at {}: start sharp_am, or say where it is", endpoint), why).value();
}

/// Calls the manager once: `call` is one of its functions.
template <class Reply, class Call>
Result<grpc::Status> call_manager(const std::string& endpoint, Call call, Reply& reply) {
  if (const auto legal = control::check_endpoint(endpoint, true); !legal) return tl::unexpected(legal.error());
  const auto tls = control::Tls::of_environment();
  if (!tls) return tl::unexpected(tls.error());
  const auto channel = control::make_channel(endpoint, tls->get());
  if (!channel) return tl::unexpected(no_manager(endpoint, channel.error()));
  const auto stub = control::v1::Manager::NewStub(*channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  return call(*stub, context, reply);
}

}  // namespace

Result<nlohmann::json> ask_manager(const std::string& endpoint) {
  control::v1::StatusReply reply;
  const auto status = call_manager(
      endpoint, [](auto& stub, auto& context, auto& to) { return stub.Status(&context, {}, &to); }, reply);
  if (!status) return tl::unexpected(status.error());
  if (!status->ok()) return tl::unexpected(no_manager(endpoint, control::from_status(*status)));
  auto json = nlohmann::json::parse(reply.json(), nullptr, false);
  if (json.is_discarded())
    return fail(Errc::invalid, "the manager at {} sent an answer that is not JSON: is it sharp_am?", endpoint);
  return json;
}

Result<PageAddress> ask_for_page(const std::string& endpoint) {
  control::v1::PageReply reply;
  const auto status = call_manager(
      endpoint, [](auto& stub, auto& context, auto& to) { return stub.Page(&context, {}, &to); }, reply);
  if (!status) return tl::unexpected(status.error());
  switch (status->error_code()) {
    case grpc::StatusCode::OK:
      return PageAddress{reply.site(), reply.name(), reply.token(), reply.life_s(), reply.is_operator()};
    case grpc::StatusCode::UNIMPLEMENTED:
      return fail(Errc::unsupported, "the manager at {} is older than its page: install the same version everywhere",
                  endpoint);
    case grpc::StatusCode::NOT_FOUND: return fail(Errc::not_found, "{}", status->error_message());
    case grpc::StatusCode::PERMISSION_DENIED: return fail(Errc::denied, "{}", status->error_message());
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return fail(Errc::exhausted, "{}", status->error_message());
    default: return tl::unexpected(no_manager(endpoint, control::from_status(*status)));
  }
}

Result<> reserve(const std::string& endpoint, const Reservation& asked) {
  control::v1::ReserveRequest request;
  request.set_name(asked.name);
  request.set_uid(asked.uid);
  request.set_osts(asked.osts);
  request.set_release(asked.hosts.empty());
  for (const auto& host : asked.hosts) request.add_hosts(host);
  control::v1::ReserveReply reply;
  const auto status = call_manager(
      endpoint, [&](auto& stub, auto& context, auto& to) { return stub.Reserve(&context, request, &to); }, reply);
  if (!status) return tl::unexpected(status.error());
  switch (status->error_code()) {
    case grpc::StatusCode::OK: return {};
    case grpc::StatusCode::UNIMPLEMENTED:
      return fail(Errc::unsupported,
                  "the manager at {} is older than reservations: install the same version everywhere", endpoint);
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return tl::unexpected(no_manager(endpoint, control::from_status(*status)));
    default: return tl::unexpected(control::from_status(*status));
  }
}

std::string manager_of_environment() {
  if (const char* set = std::getenv("SUMAC_HOSTD_MANAGER"); set != nullptr && *set != '\0') return set;
  if (const auto up = manager_socket_of_up(); ::access(up.c_str(), F_OK) == 0) return "unix:" + up;
  return control::kManagerDefault;
}

}  // namespace sumac::tools
