#pragma once
// Wraps the caller's own collectives among the leaders, sumac_across_t, as coll::Across.
#include "coll/across.hpp"
#include "team/team.h"

namespace sumac::team {

class OwnAcross final : public coll::Across {
 public:
  /// Takes over `functions` and calls its close() in the destructor.
  explicit OwnAcross(const sumac_across_t& functions) : functions_(functions) {}
  ~OwnAcross() override;
  OwnAcross(const OwnAcross&) = delete;
  OwnAcross& operator=(const OwnAcross&) = delete;

  bool takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept override;
  std::string why_not(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const override;
  Progress start(const coll::Operation& operation, void*& request) override;
  Progress test(void* request) override;
  bool has_direct() const noexcept override { return functions_.start_direct != nullptr; }
  Progress start_direct(const coll::Operation& operation, void*& request) override;
  std::string_view error() const noexcept override;

 private:
  sumac_across_t functions_;
};

}  // namespace sumac::team
