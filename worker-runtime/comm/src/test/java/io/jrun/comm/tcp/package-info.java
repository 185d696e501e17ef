/** Tests of the TCP data plane; {@code TcpRanks} is their world. */
@NullMarked
package io.jrun.comm.tcp;

import org.jspecify.annotations.NullMarked;
