/** Tests of how a worker starts. */
@NullMarked
package io.jrun.comm.worker;

import org.jspecify.annotations.NullMarked;
