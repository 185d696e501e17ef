package io.jrun.launcher.job;

/**
 * How workers are laid out on nodes.
 *
 * @param perNode the workers of a node that has no number of its own, see {@link JobSpec#workersOn}
 */
public record PlacementRules(WorkerCount perNode, MapBy mapBy, BindTo bindTo) {}
