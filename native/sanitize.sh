#!/bin/sh
# Builds the kernel and its test driver with AddressSanitizer and UndefinedBehaviorSanitizer, and runs them.
set -eu
cd "$(dirname "$0")"
CXX=${CXX:-g++}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
flags="-std=c++17 -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Wno-maybe-uninitialized -Wno-uninitialized"
flags="$flags -fsanitize=address,undefined -fno-sanitize-recover=all"
kernels="baseline"
case $(uname -m) in
  x86_64 | amd64)
    flags="$flags -DENTNET_X86"
    kernels="baseline avx2 avx512" ;;
esac

# Compiles in the background; `wait_all` fails if one of them failed.
jobs=""
compile() {
  name=$1
  shift
  "$CXX" $flags "$@" -c -o "$out/$name.o" &
  jobs="$jobs $!"
}
wait_all() {
  for job in $jobs; do wait "$job"; done
}

for kernel in $kernels; do
  case $kernel in
    avx512) options="-mavx2 -mfma -mavx512f -mavx512dq -mavx512vl -mavx512bw" ;;
    avx2) options="-mavx2 -mfma" ;;
    *) options="" ;;
  esac
  compile "kernel_$kernel" $options "-DENTNET_ISA=$kernel" kernel.cpp
done
for source in library plan pool running test_driver test_running test_windows; do compile "$source" "$source.cpp"; done
wait_all
"$CXX" $flags "$out"/*.o -o "$out/test_driver" -lpthread
# Threads of the pool wait for work until the process ends; what they hold is no leak.
"$out/test_driver"
