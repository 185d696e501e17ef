/**
 * The TCP data plane: authenticated connections between the ranks of a group, opened when first needed, over which
 * {@link io.jrun.comm.collective} runs. One thread per process ({@code ConnectionSetup}) opens and accepts
 * connections. Later the thread that runs a call drives the connections itself. The entry class is
 * {@code TcpBackendFactory}.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend}, {@code collective}, {@code control} and {@code tls}.
 */
@NullMarked
package io.jrun.comm.tcp;

import org.jspecify.annotations.NullMarked;
