// hcoll_info
#include <hcoll/api/hcoll_api.h>

int main(int argc, char** argv) {
  hcoll_get_info(argc, argv);
  return 0;
}
