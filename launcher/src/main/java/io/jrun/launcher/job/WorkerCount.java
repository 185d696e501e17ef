package io.jrun.launcher.job;

/** How many workers a node gets. */
public sealed interface WorkerCount {
    /** A number. */
    record Exactly(int count) implements WorkerCount {}

    /** One for each GPU. */
    record PerGpu() implements WorkerCount {}

    /** One for each usable core. */
    record PerCore() implements WorkerCount {}

    /** One for each GPU, or for each core where there is none. */
    record Auto() implements WorkerCount {}
}
