#pragma once
// The subcommands of `sumac`, each in files of its own, listed by hand in main.cpp.
#include <string>
#include <vector>

namespace sumac::tools {

using Arguments = std::vector<std::string>;  ///< The words after the subcommand's name.

struct Subcommand {
  const char* name;
  const char* summary;
  int (*run)(const Arguments& arguments);  ///< Returns the exit status; it has printed the reason if that is not 0.
};

int bench_command(const Arguments& arguments);
int chaos_command(const Arguments& arguments);
int down_command(const Arguments& arguments);
int doctor_command(const Arguments& arguments);
int doctor_host_command(const Arguments& arguments);
int explain_command(const Arguments& arguments);
int fabric_command(const Arguments& arguments);
int lab_command(const Arguments& arguments);
int page_command(const Arguments& arguments);
int pki_command(const Arguments& arguments);
int ps_command(const Arguments& arguments);
int run_command(const Arguments& arguments);
int run_host_command(const Arguments& arguments);
int run_manager_command(const Arguments& arguments);
int run_step_command(const Arguments& arguments);
int status_command(const Arguments& arguments);
int top_command(const Arguments& arguments);
int tune_command(const Arguments& arguments);
int up_command(const Arguments& arguments);

/// Prints "sumac: TEXT" on stderr; returns 1, or 2 for wrong usage.
int complain(const std::string& text, int status = 1);

/// The directory of this executable, which also has the other programs.
std::string bin_directory();

}  // namespace sumac::tools
