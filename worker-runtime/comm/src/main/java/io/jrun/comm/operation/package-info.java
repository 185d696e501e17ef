/**
 * Checks the arguments of operations, queues operations and runs them in call order.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend} and {@code kernel}.
 */
@NullMarked
package io.jrun.comm.operation;

import org.jspecify.annotations.NullMarked;
