package io.jrun.launcher.event;

import java.util.OptionalInt;

/**
 * The reason why a round or the job stopped early.
 *
 * @param kind workerFailed, workerHung, peersLost, agentLost, notStarted, signal or timeout
 * @param rank the rank of the worker that failed first; empty if no worker is the cause
 * @param host the host of the failure; empty if no host is the cause
 * @param text a description of the failure; empty for a timeout
 */
public record JobFailure(String kind, OptionalInt rank, String host, String text) {}
