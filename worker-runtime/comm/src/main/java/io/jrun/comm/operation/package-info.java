/** Checks the arguments of operations, queues operations and runs them in call order. */
@NullMarked
package io.jrun.comm.operation;

import org.jspecify.annotations.NullMarked;
