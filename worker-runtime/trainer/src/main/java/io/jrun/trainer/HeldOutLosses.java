package io.jrun.trainer;

import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.StateDict;
import java.util.Locale;

/** The losses of the evaluations so far. Equal on all ranks, and saved with each checkpoint. */
final class HeldOutLosses {
    private static final String KEY = "held_out_losses";

    private long evaluatedStep;
    private long bestStep;
    private double best = Double.POSITIVE_INFINITY;
    private int worse;

    /**
     * Adds the loss after a step.
     *
     * @return whether the loss is lower than all before
     */
    boolean add(long step, double loss) {
        evaluatedStep = step;
        if (loss < best) {
            best = loss;
            bestStep = step;
            worse = 0;
            return true;
        }
        worse++;
        return false;
    }

    /** Whether the last evaluation was after {@code step}. */
    boolean hasEvaluated(long step) {
        return evaluatedStep == step;
    }

    /** Whether the last {@code patience} evaluations had no lower loss. */
    boolean areExhausted(int patience) {
        return patience > 0 && worse >= patience;
    }

    /** The lowest loss in words. */
    String lowest() {
        return String.format(Locale.ROOT, "lowest %.4f after step %d", best, bestStep);
    }

    void put(StateDict state) {
        if (evaluatedStep > 0) {
            state.putText(KEY, evaluatedStep + " " + bestStep + " " + best + " " + worse);
        }
    }

    /** A checkpoint without evaluations leaves the losses empty. */
    void load(SavedCheckpoint saved) {
        String text = saved.texts().get(KEY);
        if (text != null) {
            String[] words = text.split(" ", -1);
            evaluatedStep = Long.parseLong(words[0]);
            bestStep = Long.parseLong(words[1]);
            best = Double.parseDouble(words[2]);
            worse = Integer.parseInt(words[3]);
        }
    }
}
