package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Many nodes of eight workers: the real launcher, the real protocol over a TLS connection for each node; the workers
 * are simulated. 60 nodes, or 1,000 with -Djrun.soak=true.
 */
@Tag("alone") // keeps all cores busy
class ScaleIT extends RealJobs {
    private static final int NODES = Boolean.getBoolean("jrun.soak") ? 1000 : 60;

    /** The simulation fails by itself where a node misses a message or gets a wrong one. */
    @Test
    void manyNodesMeetHearOfAFailureStartAgainAndEnd() {
        JRun bench = new JRun(folder, JRun.SCRIPTS.resolve("bench/scale"));
        Result result = bench.run("--nodes=" + NODES, "--json");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out()).startsWith("{\"nodes\":" + NODES + ",");
    }
}
