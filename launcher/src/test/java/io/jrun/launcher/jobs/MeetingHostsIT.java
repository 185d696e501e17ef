package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** torchrun's way on two hosts, each with a certificate of its own. */
class MeetingHostsIT extends RealJobs {
    private static TestHosts hosts;

    @BeforeAll
    static void bringUp() {
        hosts = TestHosts.up(2);
    }

    @AfterAll
    static void takeDown() {
        if (hosts != null) {
            hosts.close();
        }
    }

    @Test
    void nodesMeetByTheNamesInTheirCertificates() {
        cert("init");
        cert("node", "h1");
        cert("node", "h2");
        Running joined = node(1);
        Result hosting = node(0).await();
        assertThat(hosting.exitCode()).as(hosting.err()).isZero();
        assertThat(hosting.out()).isEqualTo("[0@h1] rank 0 of 2\n");
        Result other = joined.await();
        assertThat(other.exitCode()).as(other.err()).isZero();
        assertThat(other.out()).isEqualTo("[1@h2] rank 1 of 2\n");
    }

    private void cert(String... words) {
        Result made = jrun.run(StandingAgent.join(new String[] {"cert"}, StandingAgent.join(words, "--dir=ca")));
        assertThat(made.exitCode()).as(made.err()).isZero();
    }

    private Running node(int nodeRank) {
        String host = "h" + (nodeRank + 1);
        return jrun.startUnder(
                hosts.on(host),
                "--nnodes=2",
                "--node-rank=" + nodeRank,
                "--rdzv-endpoint=h1:29400",
                "--rdzv-id=meeting",
                "--secret-file=" + folder.resolve("ca/" + host + ".pem"),
                "sh",
                "-c",
                "echo rank $RANK of $WORLD_SIZE");
    }
}
