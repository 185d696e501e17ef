/**
 * Collective algorithms over point-to-point {@code PeerLinks}. Each algorithm has one file that states its steps, its
 * bytes and its source. {@code CollectiveAlgorithms} runs a call with the algorithm that {@code AlgorithmSelector}
 * names. No class of this package uses sockets.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend} and {@code kernel}.
 */
@NullMarked
package io.jrun.comm.collective;

import org.jspecify.annotations.NullMarked;
