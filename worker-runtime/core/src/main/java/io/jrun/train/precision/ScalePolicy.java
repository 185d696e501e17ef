package io.jrun.train.precision;

/**
 * The changes of a loss scale: torch's GradScaler. A bad step is a step with a gradient that is not finite. A bad step
 * multiplies the scale by {@code backoff}. {@code interval} consecutive good steps multiply the scale by
 * {@code growth}, unless the product is infinite.
 *
 * @param initial the first scale
 * @param growth factor after good steps, more than 1
 * @param backoff factor after a bad step, more than 0 and less than 1
 * @param interval number of consecutive good steps, 1 or more
 */
public record ScalePolicy(float initial, double growth, double backoff, int interval) {
    /** torch's defaults: 65,536, times 2 after 2,000 good steps, times 0.5 after a bad one. */
    public static final ScalePolicy DEFAULT = new ScalePolicy(65_536, 2, 0.5, 2000);

    public ScalePolicy {
        if (!(initial > 0) || Float.isInfinite(initial)) {
            throw new IllegalArgumentException("initial must be a finite number of more than 0, not " + initial);
        }
        if (!(growth > 1)) {
            throw new IllegalArgumentException("growth must be more than 1, not " + growth);
        }
        if (!(backoff > 0 && backoff < 1)) {
            throw new IllegalArgumentException("backoff must be more than 0 and less than 1, not " + backoff);
        }
        if (interval < 1) {
            throw new IllegalArgumentException("interval must be at least 1, not " + interval);
        }
    }

    /**
     * A loss scale and the count that a resumed job needs.
     *
     * @param goodSteps steps with finite gradients since the scale last changed
     */
    public record State(float scale, int goodSteps) {}

    /** The state before the first step. */
    public State begin() {
        return new State(initial, 0);
    }

    /** The state after a step. */
    public State after(State state, boolean allFinite) {
        if (!allFinite) {
            return new State((float) (state.scale() * backoff), 0);
        }
        if (state.goodSteps() + 1 < interval) {
            return new State(state.scale(), state.goodSteps() + 1);
        }
        float grown = (float) (state.scale() * growth);
        return new State(Float.isFinite(grown) ? grown : state.scale(), 0);
    }
}
