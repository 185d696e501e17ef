package io.jrun.launcher.jobs;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** Tests on a real Slurm cluster of two nodes; skipped, with the reason, on a machine that cannot have one. */
abstract class SlurmJobs extends RealJobs {
    static final String JRUN = JRun.SCRIPTS.resolve("jrun").toString();

    static TestCluster cluster;

    @BeforeAll
    static void bringUp() {
        cluster = TestCluster.up(2);
    }

    @AfterAll
    static void takeDown() {
        if (cluster != null) {
            cluster.close();
        }
    }

    /** The environment of a batch script: no more than the environment of a user's login shell. */
    Map<String, String> environment() {
        Map<String, String> environment = new HashMap<>();
        environment.put(Leftovers.OWNER_VARIABLE, Leftovers.OWNER);
        environment.put("PATH", System.getenv("PATH"));
        environment.put("HOME", folder.toString());
        environment.put("XDG_CACHE_HOME", folder.resolve("cache").toString());
        environment.put("JAVA_HOME", Objects.requireNonNullElse(System.getenv("JAVA_HOME"), ""));
        environment.put("JRUN_NO_ARCHIVE", "1");
        environment.put("JRUN_HOME", Objects.requireNonNull(System.getProperty("jrun.home")));
        environment.put("JRUN_LOG_DIR", folder.resolve("logs").toString());
        environment.put("JRUN_RUN_ID", JRun.RUN_ID_START + Integer.toHexString(folder.hashCode()));
        environment.put("OMP_NUM_THREADS", "1");
        return environment;
    }

    /** Submits a batch job that runs {@code script} in the test's folder; returns its id. */
    String submit(List<String> options, String script) {
        Map<String, String> environment = environment();
        environment.putAll(JRun.jvmOptions(script.split("\\s+", -1)));
        return cluster.submit(folder, environment, options, script);
    }

    /** The output of the workers, sorted, because ranks write in any order. */
    List<String> workerLines(String job) {
        return TestCluster.output(folder, job)
                .lines()
                .filter(line -> line.startsWith("["))
                .sorted()
                .toList();
    }
}
