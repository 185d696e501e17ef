package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;

/** Agents and launchers that an authority of the cluster's own has admitted, with {@code jrun cert}. */
class CertIT extends RealJobs {
    private void make(String... words) {
        Result made = jrun.run(StandingAgent.join(new String[] {"cert"}, words));
        assertThat(made.exitCode()).as(made.err()).isZero();
    }

    @Test
    void aCertificateIsAcceptedUnderItsOwnNameOnly() throws Exception {
        make("init", "--dir=ca");
        make("node", "127.0.0.1", "--dir=ca");
        make("node", "alice", "--dir=ca");
        make("init", "--dir=other");
        make("node", "mallory", "--dir=other");
        Path alice = folder.resolve("ca/alice.pem");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(alice)))
                .isEqualTo("rw-------");
        Result twice = jrun.run("cert", "node", "alice", "--dir=ca");
        assertThat(twice.exitCode()).isEqualTo(2);
        assertThat(twice.err()).hasLineCount(1).contains(alice + " exists already");

        try (StandingAgent agent = StandingAgent.startWith(jrun, folder.resolve("ca/127.0.0.1.pem"))) {
            Result served = jrun.run(StandingAgent.join(agent.optionsWithSecret(alice), "echo", "served"));
            assertThat(served.exitCode()).as(served.err()).isZero();
            assertThat(served.out()).endsWith("] served\n");
            Path mallory = folder.resolve("other/mallory.pem");
            Result stranger = jrun.run(StandingAgent.join(agent.optionsWithSecret(mallory), "touch", "started"));
            assertThat(stranger.exitCode()).isEqualTo(2);
            assertThat(stranger.err()).contains("the certificate of the peer is not accepted");
            assertThat(folder.resolve("started")).doesNotExist();
        }

        try (StandingAgent impostor = StandingAgent.startWith(jrun, alice)) {
            Result warned = jrun.run(StandingAgent.join(impostor.optionsWithSecret(alice), "touch", "started"));
            assertThat(warned.exitCode()).isEqualTo(2);
            assertThat(warned.err()).contains("the certificate of the peer is not accepted", "127.0.0.1");
            assertThat(folder.resolve("started")).doesNotExist();
        }
    }
}
