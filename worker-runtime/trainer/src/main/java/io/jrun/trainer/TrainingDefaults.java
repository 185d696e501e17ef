package io.jrun.trainer;

/**
 * The values of options that are not given.
 *
 * @param steps {@code --steps}
 * @param microBatch {@code --micro-batch}
 * @param learningRate {@code --lr}
 * @param warmup {@code --warmup}
 * @param context {@code --context}
 * @param maxBytes {@code --max-bytes}
 * @param logEvery {@code --log-every}
 */
public record TrainingDefaults(
        int steps, int microBatch, double learningRate, int warmup, int context, long maxBytes, int logEvery) {
    /** The values for a small model that begins with random parameters. */
    public static final TrainingDefaults NEW_MODEL = new TrainingDefaults(600, 16, 4e-3, 50, 64, 6_000_000, 20);

    /** The values of {@code --tiny}. */
    public static final TrainingDefaults SMOKE_TEST = new TrainingDefaults(40, 8, 5e-3, 5, 64, 400_000, 10);

    /** A text with these values in the places {@code {steps}}, {@code {lr}} and so on. */
    String in(String text) {
        return text.replace("{steps}", Integer.toString(steps))
                .replace("{micro-batch}", Integer.toString(microBatch))
                .replace("{lr}", Double.toString(learningRate))
                .replace("{warmup}", Integer.toString(warmup))
                .replace("{context}", Integer.toString(context))
                .replace("{max-bytes}", maxBytes == Long.MAX_VALUE ? "all" : Long.toString(maxBytes))
                .replace("{log-every}", Integer.toString(logEvery));
    }
}
