/**
 * Tensors for communication: their memory, their types, collectives on tensors, and the tensors of a module by name.
 * Entry class: {@code TensorCollectives}.
 */
@NullMarked
package io.jrun.train.tensor;

import org.jspecify.annotations.NullMarked;
