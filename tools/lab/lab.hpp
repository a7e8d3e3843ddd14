#pragma once
#include "tools/commands.hpp"

namespace sumac::tools {

int lab_up(const Arguments& arguments);
int lab_exec(const Arguments& arguments);
int lab_rsh(const Arguments& arguments);
int lab_mpirun(const Arguments& arguments);
int lab_status(const Arguments& arguments);
int lab_down(const Arguments& arguments);
int lab_link(const Arguments& arguments);
int lab_daemon(const Arguments& arguments);

}  // namespace sumac::tools
