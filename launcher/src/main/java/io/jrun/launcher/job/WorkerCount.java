package io.jrun.launcher.job;

/** How many workers a node gets. */
public sealed interface WorkerCount {
    /** No node gets more. */
    int MOST = 4096;

    /** A number. */
    record Exactly(int count) implements WorkerCount {}

    /** One for each GPU. */
    record PerGpu() implements WorkerCount {}

    /** One for each usable core. */
    record PerCore() implements WorkerCount {}

    /** One for each GPU, or for each core where there is none. */
    record Auto() implements WorkerCount {}

    /**
     * As {@code --nproc-per-node} has it, and {@link #text}.
     *
     * @throws IllegalArgumentException if it is none of these
     */
    static WorkerCount of(String text) {
        return switch (text) {
            case "gpu" -> new PerGpu();
            case "cpu" -> new PerCore();
            case "auto" -> new Auto();
            default -> {
                int count = text.matches("[1-9][0-9]{0,3}") ? Integer.parseInt(text) : 0;
                if (count < 1 || count > MOST) {
                    throw new IllegalArgumentException(text);
                }
                yield new Exactly(count);
            }
        };
    }

    /** What {@link #of} reads. */
    default String text() {
        return switch (this) {
            case Exactly(int count) -> Integer.toString(count);
            case PerGpu() -> "gpu";
            case PerCore() -> "cpu";
            case Auto() -> "auto";
        };
    }
}
