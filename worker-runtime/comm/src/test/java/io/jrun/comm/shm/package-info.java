/** Tests of shared memory. */
@NullMarked
package io.jrun.comm.shm;

import org.jspecify.annotations.NullMarked;
