// The functions of the interface that this library does not serve: execution engines, triggered posts, mapped memory.
#include "bindings/ucc/refuse.hpp"

namespace {

ucc_status_t absent(const char* what) {
  return sumac::ucc::guarded(
      [&] { return sumac::ucc::refuse(UCC_ERR_NOT_SUPPORTED, std::string(what) + ": this library has none"); });
}

}  // namespace

extern "C" {

ucc_status_t ucc_collective_init_and_post(ucc_coll_args_t*, ucc_coll_req_h*, ucc_team_h) {
  return UCC_ERR_NOT_IMPLEMENTED;
}
ucc_status_t ucc_ee_create(ucc_team_h, const ucc_ee_params_t*, ucc_ee_h*) { return absent("execution engines"); }
ucc_status_t ucc_ee_destroy(ucc_ee_h) { return absent("execution engines"); }
ucc_status_t ucc_ee_get_event(ucc_ee_h, ucc_ev_t**) { return absent("execution engines"); }
ucc_status_t ucc_ee_ack_event(ucc_ee_h, ucc_ev_t*) { return absent("execution engines"); }
ucc_status_t ucc_ee_set_event(ucc_ee_h, ucc_ev_t*) { return absent("execution engines"); }
ucc_status_t ucc_ee_wait(ucc_ee_h, ucc_ev_t*) { return absent("execution engines"); }
ucc_status_t ucc_collective_triggered_post(ucc_ee_h, ucc_ev_t*) { return absent("triggered posts"); }
ucc_status_t ucc_mem_map(ucc_context_h, ucc_mem_map_mode_t, ucc_mem_map_params_t*, size_t*, ucc_mem_map_mem_h*) {
  return absent("mapped memory");
}
ucc_status_t ucc_mem_unmap(ucc_mem_map_mem_h*) { return absent("mapped memory"); }

}  // extern "C"
