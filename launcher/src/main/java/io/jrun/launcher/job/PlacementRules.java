package io.jrun.launcher.job;

/**
 * The rules that place workers on nodes.
 *
 * @param perNode the number of workers of a node without a number of its own, see {@link JobSpec#workersOn}
 */
public record PlacementRules(WorkerCount perNode, MapBy mapBy, BindTo bindTo) {}
