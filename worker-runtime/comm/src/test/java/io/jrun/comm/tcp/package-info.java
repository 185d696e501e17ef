/** Tests of the TCP data plane; {@link io.jrun.comm.tcp.TcpRanks} is their world. */
@NullMarked
package io.jrun.comm.tcp;

import org.jspecify.annotations.NullMarked;
