// Two functions of std::exception_ptr that the libstdc++ of gcc 10 and older does not show. It has the copy and the end of such a
// pointer, which call them.
extern "C" {
void sumac_exception_copied(void** to, void* const* from) noexcept
    __asm__("_ZNSt15__exception_ptr13exception_ptrC1ERKS0_");
void sumac_exception_ended(void** pointer) noexcept __asm__("_ZNSt15__exception_ptr13exception_ptrD1Ev");
void sumac_exception_addref(void** self) noexcept __asm__("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void sumac_exception_release(void** self) noexcept __asm__("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
}

void sumac_exception_addref(void** self) noexcept {
  void* copy = nullptr;  // It never ends: its count stays with `self`.
  sumac_exception_copied(&copy, self);
}

void sumac_exception_release(void** self) noexcept {
  sumac_exception_ended(self);
  *self = nullptr;
}
