#pragma once
// The subcommands of `sumac`, each in files of its own, listed by hand in main.cpp.
#include <string>
#include <vector>

namespace sumac::tools {

using Arguments = std::vector<std::string>;  ///< What stands behind the subcommand's name.

struct Subcommand {
  const char* name;
  const char* summary;
  int (*run)(const Arguments& arguments);  ///< Returns the exit status; has printed why, if it is not 0.
};

int down_command(const Arguments& arguments);
int doctor_command(const Arguments& arguments);
int fabric_command(const Arguments& arguments);
int lab_command(const Arguments& arguments);
int pki_command(const Arguments& arguments);
int run_command(const Arguments& arguments);
int run_host_command(const Arguments& arguments);
int status_command(const Arguments& arguments);
int tune_command(const Arguments& arguments);
int up_command(const Arguments& arguments);

/// "sumac: TEXT" on stderr; returns 1. For wrong usage: 2.
int complain(const std::string& text, int status = 1);

/// The directory of this executable, where the other programs lie too.
std::string bin_directory();

}  // namespace sumac::tools
