#pragma once
// HTTP without sockets: a whole request in, a whole answer out. Only exchange.cpp includes cpp-httplib, which takes
// seconds to compile.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sumac::http {

struct Request {
  std::string method;
  std::string path;                          ///< Decoded, without the query.
  std::map<std::string, std::string> query;  ///< Decoded; of a repeated name the first counts.
  /// Returns the header, whatever the case of its name; nothing if the request has none, or several.
  std::function<std::optional<std::string>(const char* name)> header;
  std::function<std::size_t(const char* name)> header_count;
};

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

class Exchange {
 public:
  explicit Exchange(std::function<Response(const Request&)> respond);
  ~Exchange();

  /// Never throws; a request that is none gets an answer that says so.
  std::string answer(std::string request);

 private:
  struct Routes;
  std::unique_ptr<Routes> routes_;
};

/// True if the request has the header "Authorization: Bearer TOKEN". It takes the same time wherever the tokens differ.
bool has_bearer(const Request& request, std::string_view token);

}  // namespace sumac::http
