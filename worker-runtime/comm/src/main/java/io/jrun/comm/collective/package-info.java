/**
 * Collective algorithms over point-to-point {@link io.jrun.comm.collective.Links}, one per file, each with its steps, its
 * bytes and its source. {@link io.jrun.comm.collective.Collectives} runs a call with the algorithm that
 * {@link io.jrun.comm.collective.AlgorithmSelector} names; nothing here knows a socket.
 */
@NullMarked
package io.jrun.comm.collective;

import org.jspecify.annotations.NullMarked;
