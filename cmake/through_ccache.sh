#!/bin/sh
# through_ccache.sh CCACHE COMPILER ARGUMENT...: what CMake puts before each call of the compiler. A precompiled header
# holds the path that it was made in, and cannot be used once that is gone: each checkout makes its own.
ccache=$1
shift
for argument; do
  case $argument in -emit-pch | c++-header) exec "$@" ;; esac
done
exec "$ccache" "$@"
