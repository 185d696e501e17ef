package io.jrun.launcher.event;

import java.util.OptionalInt;

/**
 * Why a round, or the job, stopped early.
 *
 * @param kind workerFailed, workerHung, peersLost, agentLost, notStarted, signal or timeout
 * @param rank of the worker that failed first; empty if the cause is no worker
 * @param host where that happened; empty if the cause is no host
 * @param text what happened; empty for a timeout
 */
public record JobFailure(String kind, OptionalInt rank, String host, String text) {}
