#pragma once
// The sink that file_sink() (log.hpp) makes. The file can be opened again, which logrotate asks for by SIGHUP after it
// has moved the old file.
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/log.hpp"

namespace sumac {

struct FileSink {
  std::string path;
  /// The descriptor number never changes, because other threads write to it meanwhile.
  std::shared_ptr<const UniqueFd> file;
  void operator()(std::string_view line) const;
};

/// Opens the path of a file_sink() again. Other threads write each line whole, either to the old file or to the new
/// one. Does nothing for a sink of another kind. After an error the old file stays in use.
Result<> reopen(const LogSink& sink);

}  // namespace sumac
