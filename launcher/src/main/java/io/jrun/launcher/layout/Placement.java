package io.jrun.launcher.layout;

/**
 * Where one rank runs.
 *
 * @param gpu the devices this worker sees, separated by commas; empty for whatever its node has
 */
public record Placement(int rank, int nodeRank, int localRank, String host, String gpu) {}
