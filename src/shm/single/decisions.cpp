#include "shm/single/decisions.hpp"

namespace sumac::shm {

Decisions::Known Decisions::known() const noexcept {
  Known known{};
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Decision& decision = all_[i / kClasses][i % kClasses];
    if (decision.is_settled()) known[i] = decision.better() == kSingle ? 2 : 1;
  }
  return known;
}

void Decisions::settle(const Known& known) noexcept {
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i] != 0) all_[i / kClasses][i % kClasses].settle(known[i] == 2 ? kSingle : kShared);
}

void Decisions::look_again() noexcept {
  for (auto& decisions : all_)
    for (Decision& decision : decisions) {
      decision.begin_again();
      decision.mine_ns = 0;
    }
}

}  // namespace sumac::shm
