/** Self-signed certificates for TLS, for the connections between ranks and between launcher and agents. */
@NullMarked
package io.jrun.comm.tls;

import org.jspecify.annotations.NullMarked;
