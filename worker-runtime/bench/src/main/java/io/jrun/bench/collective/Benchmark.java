package io.jrun.bench.collective;

import picocli.CommandLine.ParameterException;

/** A sub-command of {@code jrun bench}. */
public interface Benchmark extends Runnable {
    /**
     * Looks at what only makes sense together, without starting anything.
     *
     * @throws ParameterException in one line, if it does not
     */
    void check();
}
