package io.jrun.launcher.layout;

/**
 * Where one rank runs.
 *
 * @param gpu the device of this worker, empty if it has none of its own
 */
public record Placement(int rank, int nodeRank, int localRank, String host, String gpu) {}
