/**
 * Collectives of objects.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend} and {@code operation}.
 */
@NullMarked
package io.jrun.comm.object;

import org.jspecify.annotations.NullMarked;
