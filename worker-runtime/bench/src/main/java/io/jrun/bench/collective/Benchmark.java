package io.jrun.bench.collective;

import picocli.CommandLine.ParameterException;

/** A sub-command of {@code jrun bench}. */
public interface Benchmark extends Runnable {
    /**
     * Checks combinations of options, without starting anything.
     *
     * @throws ParameterException with one line for the user, if a combination is unusable
     */
    void check();
}
