/**
 * Collective algorithms over point-to-point {@code PeerLinks}, one per file, each with its steps, its
 * bytes and its source. {@code CollectiveAlgorithms} runs a call with the algorithm that
 * {@code AlgorithmSelector} names; nothing here knows a socket.
 */
@NullMarked
package io.jrun.comm.collective;

import org.jspecify.annotations.NullMarked;
