/** Collectives of objects. */
@NullMarked
package io.jrun.comm.object;

import org.jspecify.annotations.NullMarked;
