/**
 * The arithmetic of reductions on native memory: vector loops if the VM has the Vector API, else scalar loops with
 * equal bits. The entry class is {@code Kernels}.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package and
 * {@code control}.
 */
@NullMarked
package io.jrun.comm.kernel;

import org.jspecify.annotations.NullMarked;
