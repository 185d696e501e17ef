/** Tests of what the algorithms share; the algorithms themselves are tested over a transport. */
@NullMarked
package io.jrun.comm.collective;

import org.jspecify.annotations.NullMarked;
