/**
 * The arithmetic of reductions on native memory, with the Vector API where the VM has it and plain loops of equal bits
 * where it has not. Entry class: {@code Kernels}.
 */
@NullMarked
package io.jrun.comm.kernel;

import org.jspecify.annotations.NullMarked;
