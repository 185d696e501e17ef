/**
 * Self-signed certificates for TLS, for the connections between ranks and between launcher and agents.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use only the root package.
 */
@NullMarked
package io.jrun.comm.tls;

import org.jspecify.annotations.NullMarked;
