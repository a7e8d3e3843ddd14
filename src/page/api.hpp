#pragma once
// Answers requests to the page: its own files to anybody who comes to its own address, data to holders of tokens only.
// It belongs to one thread, the server's.
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "http/exchange.hpp"
#include "page/guard.hpp"
#include "page/tokens.hpp"
#include "page/views.hpp"

namespace sumac::page {

class Api {
 public:
  /// `fresh` brings the model up to date, and returns false if the manager's loop does not answer.
  Api(const Guard& guard, Tokens& tokens, Model& model, std::function<bool()> fresh);

  http::Response respond(const http::Request& request);

 private:
  /// An answer, and the versions of the parts that it was made of.
  struct Kept {
    std::string tag, body;
  };
  struct Query;

  http::Response data(const http::Request& request, const Viewer& viewer);
  http::Response shared(const http::Request& request, const Viewer& viewer, const std::string& version,
                        const std::function<nlohmann::json()>& make);

  const Guard& guard_;
  Tokens& tokens_;
  Model& model_;
  std::function<bool()> fresh_;
  std::string life_;  ///< Differs between two lives of a manager, whose versions begin anew.
  std::map<std::string, Kept> kept_;
};

}  // namespace sumac::page
