/**
 * The arithmetic of reductions on native memory: vector loops if the VM has the Vector API, else scalar loops with
 * equal bits. The entry class is {@code Kernels}.
 */
@NullMarked
package io.jrun.comm.kernel;

import org.jspecify.annotations.NullMarked;
