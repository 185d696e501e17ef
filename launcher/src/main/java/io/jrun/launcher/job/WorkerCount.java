package io.jrun.launcher.job;

/** The number of workers of a node. */
public sealed interface WorkerCount {
    /** The limit of workers on one node. */
    int MAX = 4096;

    /**
     * The limit of workers of a job. No cluster has as many GPUs, and a rank map of this size fits into the launcher's
     * 256 MiB.
     */
    int MAX_OF_JOB = 262_144;

    /** A number. */
    record Exactly(int count) implements WorkerCount {}

    /** One worker for each GPU. */
    record PerGpu() implements WorkerCount {}

    /** One worker for each usable core. */
    record PerCore() implements WorkerCount {}

    /** One worker for each GPU, or for each usable core of a node without GPUs. */
    record Auto() implements WorkerCount {}

    /** The number without an option: one worker for each GPU, or one worker on a node without GPUs. */
    record ByDefault() implements WorkerCount {}

    /**
     * Reads a value of {@code --nproc-per-node}, as {@link #text} writes it.
     *
     * @throws IllegalArgumentException if the text is none of these values
     */
    static WorkerCount of(String text) {
        return switch (text) {
            case "gpu" -> new PerGpu();
            case "cpu" -> new PerCore();
            case "auto" -> new Auto();
            default -> {
                int count = text.matches("[1-9][0-9]{0,3}") ? Integer.parseInt(text) : 0;
                if (count < 1 || count > MAX) {
                    throw new IllegalArgumentException(text);
                }
                yield new Exactly(count);
            }
        };
    }

    /** The value as {@link #of} reads it; empty for the default. */
    default String text() {
        return switch (this) {
            case Exactly(int count) -> Integer.toString(count);
            case PerGpu() -> "gpu";
            case PerCore() -> "cpu";
            case Auto() -> "auto";
            case ByDefault() -> "";
        };
    }
}
