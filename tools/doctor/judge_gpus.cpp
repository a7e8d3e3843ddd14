// Judges GPUs and their drivers. Sumac itself needs none: the findings matter to the programs that use it.
#include <fmt/format.h>

#include "tools/doctor/judge.hpp"

namespace sumac::tools::doctor {
namespace {

constexpr const char* kSubject = "GPUs";

Findings judge_nvidia(const Gpus& gpus) {
  const auto cards = std::max(gpus.nvidia_cards, gpus.nvidia_devices);
  if (gpus.nvidia_module.empty())
    return {{kSubject, Health::note, fmt::format("{} of NVIDIA, but their driver is not loaded", cards),
             "`modprobe nvidia`, or `apt-get install nvidia-driver` and start the machine again"}};
  if (gpus.nvidia_devices == 0)
    return {{kSubject, Health::note, fmt::format("driver {}, but no /dev/nvidia0", gpus.nvidia_module),
             "`nvidia-modprobe -u -c 0` makes it; in a container: `docker run --gpus all`"}};
  if (!gpus.nvidia_usable)
    return {{kSubject, Health::note, "this user may not open /dev/nvidia0 or /dev/nvidiactl",
             "add the user to the group that `ls -l /dev/nvidia0` shows: `usermod -aG GROUP USER`"}};
  if (!gpus.cuda_error.empty())
    return {{kSubject, Health::note, fmt::format("libcuda.so.1: {}", gpus.cuda_error),
             fmt::format("install the library of driver {}: `apt-get install libcuda1`", gpus.nvidia_module)}};
  if (!gpus.cuda_library.empty() && gpus.cuda_library != gpus.nvidia_module)
    return {{kSubject, Health::note,
             fmt::format("kernel module {}, library {}: programs that use the GPU fail", gpus.nvidia_module,
                         gpus.cuda_library),
             "start the machine again, which loads the module of the installed driver"}};
  // 803 and 999 are CUDA_ERROR_SYSTEM_DRIVER_MISMATCH and CUDA_ERROR_UNKNOWN.
  if (gpus.cuda_init != 0)
    return {{kSubject, Health::note,
             fmt::format("driver {}, but cuInit() returns {}", gpus.nvidia_module, gpus.cuda_init),
             "`nvidia-smi` and `dmesg` say more; error 803: start the machine again"}};
  return {{kSubject, Health::well, fmt::format("{} of NVIDIA, driver {}", cards, gpus.nvidia_module), ""}};
}

Findings judge_amd(const Gpus& gpus) {
  if (!gpus.amd_kfd)
    return {{kSubject, Health::note, fmt::format("{} of AMD, but no /dev/kfd", gpus.amd_cards),
             "`modprobe amdgpu`; in a container: `docker run --device /dev/kfd --device /dev/dri`"}};
  if (!gpus.amd_usable)
    return {{kSubject, Health::note, "this user may not open /dev/kfd",
             "add the user to the group that `ls -l /dev/kfd` shows: `usermod -aG render USER`"}};
  return {{kSubject, Health::well, fmt::format("{} of AMD", gpus.amd_cards), ""}};
}

}  // namespace

Findings judge_gpus(const Facts& facts) {
  const auto& gpus = facts.gpus;
  Findings all;
  if (gpus.nvidia_cards > 0 || !gpus.nvidia_module.empty() || gpus.nvidia_devices > 0) all = judge_nvidia(gpus);
  if (gpus.amd_cards > 0 || gpus.amd_kfd)
    for (auto& each : judge_amd(gpus)) all.push_back(std::move(each));
  if (all.empty()) all.push_back({kSubject, Health::well, "none", ""});
  return all;
}

}  // namespace sumac::tools::doctor
