/** What TLS needs and the JDK has not; for the connections between ranks and for those between launcher and agents. */
@NullMarked
package io.jrun.comm.tls;

import org.jspecify.annotations.NullMarked;
