#pragma once
// Hosts of a Slurm step meet here before they have certificates: the first host listens, each other asks it once and
// gets one answer. All that they have in common is a secret of the step. Ports and proofs come from it, and nothing that is said
// is itself secret: a host's request for certificates, the certificates, and the manager's address.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"

namespace sumac::tools {

/// Reads the secret as the plug-in writes it: 32 hexadecimal digits.
Result<Secret> read_secret(std::string_view text);

/// The first host listens at the first of these ports that is free; a host asks at each in turn until one answers with proof.
std::vector<std::uint16_t> meeting_ports(const Secret& secret);

/// The two ends of a conversation prove different things, so that nobody can send back what he got.
enum class Said { by_host, by_first };

/// The words with their proof before them, as they are sent.
std::string with_proof(const Secret& secret, Said who, std::string_view words);
/// Errc::refused: the proof is another's, or the words are not whole.
Result<std::string> without_proof(const Secret& secret, Said who, std::string_view sent);

/// The first host's end.
class MeetingPlace {
 public:
  static Result<MeetingPlace> open(const Secret& secret);
  /// Answers hosts until `count` different ones have got an answer. `answer` is called with what a host with proof says, and must be
  /// quick: hosts wait a second before they ask elsewhere. Where it fails, that host gets none. Errc::timeout: some have not come.
  Result<> answer(std::size_t count, const std::function<Result<std::string>(const std::string&)>& answer,
                  Time deadline, int interrupt_fd) const;

 private:
  Secret secret_{};
  UniqueFd listener_;
};

/// Asks the first host, which may not listen yet. Errc::interrupted: `interrupt_fd` became readable.
Result<std::string> ask_first(const std::string& host, const Secret& secret, const std::string& words, Time deadline,
                              int interrupt_fd);

}  // namespace sumac::tools
