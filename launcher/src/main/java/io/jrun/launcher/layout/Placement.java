package io.jrun.launcher.layout;

/**
 * The node and the GPU of one rank.
 *
 * @param gpu the devices that the worker sees, separated by commas; empty for all devices of the node
 */
public record Placement(int rank, int nodeRank, int localRank, String host, String gpu) {}
