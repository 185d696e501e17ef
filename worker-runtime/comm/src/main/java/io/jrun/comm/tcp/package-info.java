/**
 * The TCP data plane: authenticated connections between the ranks of a group, opened when first needed, over which
 * {@link io.jrun.comm.collective} runs. One thread per process ({@code ConnectionSetup}) opens and accepts
 * connections; after that the thread that runs a call drives them itself. Entry class:
 * {@code TcpBackendFactory}.
 */
@NullMarked
package io.jrun.comm.tcp;

import org.jspecify.annotations.NullMarked;
