package io.jrun.launcher.event;

/**
 * The CPU time and the memory of a worker.
 *
 * @param cpuPercent of one core, since the last report
 * @param residentBytes resident memory, shared memory included
 */
public record WorkerLoad(int rank, double cpuPercent, long residentBytes) {}
