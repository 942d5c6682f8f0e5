# shellcheck shell=bash
# What the scripts in this folder share: messages, and where things lie. Sourced, never run.

script=${0##*/}

# Messages are for people and go to stderr; stdout belongs to the results.
say() {
  echo "$script: $1" >&2
}

# fail "subject: problem" "hint"
fail() {
  printf '%s: %s\n  hint: %s\n' "$script" "$1" "$2" >&2
  exit 1
}

wrong_usage() {
  printf '%s: %s\n  hint: %s\n' "$script" "$1" "$2" >&2
  exit 2
}

cache_folder() {
  if [[ -n ${DDPPROF_CACHE:-} ]]; then
    echo "$DDPPROF_CACHE"
  else
    [[ -n ${XDG_CACHE_HOME:-}${HOME:-} ]] || fail "HOME: not set" "set DDPPROF_CACHE to a folder for LibTorch"
    echo "${XDG_CACHE_HOME:-$HOME/.cache}/ddpprof"
  fi
}

# cuda where an NVIDIA driver is there, else cpu.
default_half() {
  if [[ -e /proc/driver/nvidia/version ]] || command -v nvidia-smi >/dev/null; then
    echo cuda
  else
    echo cpu
  fi
}

# How many compilers at once: one a core, and 2 GB of memory for each. CMAKE_BUILD_PARALLEL_LEVEL wins.
build_jobs() {
  local cores memory_gb
  cores=$(nproc)
  memory_gb=$(awk '/^MemAvailable/ {print int($2 / 2000000)}' /proc/meminfo)
  ((memory_gb >= 1)) || memory_gb=1
  echo "${CMAKE_BUILD_PARALLEL_LEVEL:-$((cores < memory_gb ? cores : memory_gb))}"
}
