/** The libraries that multiply the matrices of libtorch on CPUs: OpenBLAS of the runtime, and Intel MKL on request. */
@NullMarked
package io.jrun.launcher.blas;

import org.jspecify.annotations.NullMarked;
