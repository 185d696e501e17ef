package io.jrun.launcher.console;

/**
 * Where a worker runs, for the prefix of its lines.
 *
 * @param host the name of its host
 */
public record WorkerPlace(String host, int localRank) {}
