/** Tests of the shared parts of the algorithms. Other tests run the algorithms over a transport. */
@NullMarked
package io.jrun.comm.collective;

import org.jspecify.annotations.NullMarked;
