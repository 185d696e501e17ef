package io.jrun.launcher.job;

import java.util.OptionalInt;

/**
 * The workers that read jrun's standard input.
 *
 * @param all whether each worker reads a copy of all of it
 * @param rank the one rank that reads it
 */
public record StdinChoice(boolean all, OptionalInt rank) {
    /** No worker reads it, and jrun does not read it either. */
    public static final StdinChoice NONE = new StdinChoice(false, OptionalInt.empty());

    /** Each worker reads a copy. */
    public static final StdinChoice ALL = new StdinChoice(true, OptionalInt.empty());

    /** One rank reads it. */
    public static StdinChoice of(int rank) {
        return new StdinChoice(false, OptionalInt.of(rank));
    }

    /** Whether no worker reads it. */
    public boolean isNone() {
        return equals(NONE);
    }

    /** Whether this rank reads it. */
    public boolean reaches(int worker) {
        return all || (rank.isPresent() && rank.getAsInt() == worker);
    }
}
