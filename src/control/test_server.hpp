#pragma once
// For tests: a service that returns the identity of its caller, in a server on a socket in a directory of its own.
#include <gtest/gtest.h>

#include "base/test_folder.hpp"
#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"

namespace sumac::control {

struct TestDirectory : TestFolder {
  TestDirectory() : TestFolder("control") {}
};

class WhoService final : public v1::Manager::CallbackService {
 public:
  explicit WhoService(CallerOf caller_of) : caller_of_(std::move(caller_of)) {}
  static std::unique_ptr<grpc::Service> make(CallerOf caller_of) {
    return std::make_unique<WhoService>(std::move(caller_of));
  }
  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context, const v1::StatusRequest*,
                                   v1::StatusReply* reply) override {
    const auto caller = caller_of_(*context);
    reply->set_json(!caller ? caller.error().context
                            : fmt::format("{}{}", caller->describe(), caller->no_daemon.empty() ? "" : ", no daemon"));
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  CallerOf caller_of_;
};

/// Returns "user 0", or the reason why there is no answer.
inline std::string ask_who(const std::string& endpoint, Tls* tls = nullptr) {
  auto channel = make_channel(endpoint, tls);
  if (!channel) return channel.error().context;
  const auto stub = v1::Manager::NewStub(*channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::StatusReply reply;
  const auto status = stub->Status(&context, {}, &reply);
  return status.ok() ? reply.json() : from_status(status).context;
}

}  // namespace sumac::control
