// What a call of the CUDA runtime answered, in words.
#pragma once

#include <string>

namespace ddpprof {

// Whether `code`, a cudaError_t, is an error. The first one goes into `error`, after the name of
// its call; later ones leave it as it is.
bool note_cuda_error(int code, const char* call, std::string& error) noexcept;

}  // namespace ddpprof
