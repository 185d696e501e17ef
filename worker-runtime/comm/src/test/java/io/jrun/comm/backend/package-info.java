/** Tests of the shared parts of data planes. */
@NullMarked
package io.jrun.comm.backend;

import org.jspecify.annotations.NullMarked;
