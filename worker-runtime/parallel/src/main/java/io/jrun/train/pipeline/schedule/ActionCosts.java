package io.jrun.train.pipeline.schedule;

/**
 * Time of each computation of one stage and micro-batch, in any unit. A full backward pass takes input + weight.
 *
 * @param forward time of a forward pass, at least 1
 * @param input time of the input's gradient, at least 1
 * @param weight time of the weights' gradients, at least 1
 */
public record ActionCosts(long forward, long input, long weight) {
    /** One unit each. */
    public static final ActionCosts EQUAL = new ActionCosts(1, 1, 1);

    /** Rejects times below 1. */
    public ActionCosts {
        if (Math.min(forward, Math.min(input, weight)) < 1) {
            throw new ScheduleException(
                    "a computation takes at least one unit of time, not " + forward + ", " + input + ", " + weight);
        }
    }

    long of(ActionKind kind) {
        return switch (kind) {
            case FORWARD -> forward;
            case FULL_BACKWARD -> input + weight;
            case INPUT_BACKWARD -> input;
            case WEIGHT_BACKWARD -> weight;
            case SEND_FORWARD, RECEIVE_FORWARD, SEND_BACKWARD, RECEIVE_BACKWARD -> 0;
        };
    }
}
