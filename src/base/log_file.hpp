#pragma once
// The sink that file_sink() (log.hpp) makes, for who opens its file again: logrotate has moved it away and sent SIGHUP.
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/log.hpp"

namespace sumac {

struct FileSink {
  std::string path;
  std::shared_ptr<const UniqueFd> file;  ///< Its number stays the same for life: threads write to it meanwhile.
  void operator()(std::string_view line) const;
};

/// Opens the path of a file_sink() again; lines of other threads go to the old file or to the new one, whole. A sink that is no file's: nothing.
/// After an error the old file is written on.
Result<> reopen(const LogSink& sink);

}  // namespace sumac
