package io.jrun.launcher.event;

/**
 * What a worker uses.
 *
 * @param cpuPercent of one core, since the last report
 * @param residentBytes resident memory, shared memory included
 */
public record WorkerLoad(int rank, double cpuPercent, long residentBytes) {}
