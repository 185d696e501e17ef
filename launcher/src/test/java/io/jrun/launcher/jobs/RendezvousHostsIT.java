package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * torchrun's way on two hosts, each with a certificate of its own. As on Debian, the name of each host is 127.0.1.1 on
 * the host itself.
 */
class RendezvousHostsIT extends RealJobs {
    private static TestHosts hosts;

    @BeforeAll
    static void bringUp() {
        hosts = TestHosts.up(2);
        hosts.shell("h1", "printf '127.0.0.1 localhost\\n127.0.1.1 h1\\n10.99.0.2 h2\\n' > /etc/hosts");
        hosts.shell("h2", "printf '127.0.0.1 localhost\\n127.0.1.1 h2\\n10.99.0.1 h1\\n' > /etc/hosts");
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
        assertThat(hosting.out()).isEqualTo("[0@h1] rank 0 of 2 at 10.99.0.1\n");
        Result other = joined.await();
        assertThat(other.exitCode()).as(other.err()).isZero();
        assertThat(other.out()).isEqualTo("[1@h2] rank 1 of 2 at 10.99.0.1\n");
    }

    private void cert(String... words) {
        Result made = jrun.run(StandingAgent.join(new String[] {"cert"}, StandingAgent.join(words, "--dir=ca")));
        assertThat(made.exitCode()).as(made.err()).isZero();
    }

    private Running unnamed(String host) {
        return jrun.startUnder(
                Stream.concat(hosts.on(host).stream(), Stream.of("env", "-u", "JRUN_RUN_ID"))
                        .toList(),
                "--nnodes=2",
                "--rdzv-endpoint=h1:29400",
                "--secret-file=" + folder.resolve("secret"),
                "sh",
                "-c",
                "echo rank $RANK of $WORLD_SIZE on $(uname -n)");
    }

    @Test
    void jobsOfOneCommandLineThatMeetAtOneAddressDoNotMix() throws IOException {
        Path secret = Files.writeString(folder.resolve("secret"), "b1946ac92492d2347c6235b4d2611184\n");
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        List<Running> two = List.of(unnamed("h1"), unnamed("h1"));
        JRun.waitFor(() -> two.stream().anyMatch(jrun -> !jrun.process().isAlive()), "the end of one of them");
        Running refused = two.get(two.get(0).process().isAlive() ? 1 : 0);
        Running hosting = two.get(two.get(0).process().isAlive() ? 0 : 1);
        assertThat(refused.await().exitCode()).as(refused.await().err()).isEqualTo(2);
        assertThat(refused.await().err())
                .contains("a jrun on this machine, h1, takes part in a job of the same command line", "--rdzv-id");
        Result joined = unnamed("h2").await();
        assertThat(joined.exitCode()).as(joined.err()).isZero();
        assertThat(joined.out()).isEqualTo("[1@h2] rank 1 of 2 on h2\n");
        Result hosted = hosting.await();
        assertThat(hosted.exitCode()).as(hosted.err()).isZero();
        assertThat(hosted.out()).isEqualTo("[0@h1] rank 0 of 2 on h1\n");
        assertThat(hosted.err()).contains("a second jrun on h1 was refused.");
    }

    /** A pod's secret is a link that only the owner can read. */
    private Running pod(String host, List<String> variables) throws IOException {
        Path data = Files.createDirectories(folder.resolve("..data"));
        Path secret = data.resolve("secret");
        if (!Files.exists(secret)) {
            Files.writeString(secret, "b1946ac92492d2347c6235b4d2611184");
            Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("r--------"));
            Files.createSymbolicLink(folder.resolve("pod-secret"), secret);
        }
        return jrun.startUnder(
                Stream.of(hosts.on(host), List.of("env", "-u", "JRUN_RUN_ID"), variables)
                        .flatMap(List::stream)
                        .toList(),
                "--secret-file=" + folder.resolve("pod-secret"),
                "sh",
                "-c",
                "echo rank $RANK of $WORLD_SIZE");
    }

    private static List<String> withIndex(List<String> group, int index) {
        return Stream.concat(group.stream(), Stream.of("LWS_WORKER_INDEX=" + index))
                .toList();
    }

    /** The name of the leader appears after the other pod has asked for it. */
    @Test
    void podsOfALeaderWorkerSetMeetAtANameThatAppearsLate() throws Exception {
        List<String> group = List.of("LWS_GROUP_SIZE=2", "LWS_LEADER_ADDRESS=train-0.train");
        Running worker = pod("h2", withIndex(group, 1));
        Running waiting = pod("h1", withIndex(group, 0));
        hosts.shell("h1", "for i in $(seq 600); do ss -Htln | grep -q :29400 && exit; sleep 0.1; done; exit 1");
        hosts.shell("h1", "echo 10.99.0.1 train-0.train >> /etc/hosts");
        hosts.shell("h2", "echo 10.99.0.1 train-0.train >> /etc/hosts");
        Result leader = waiting.await();
        assertThat(leader.exitCode()).as(leader.err()).isZero();
        assertThat(leader.out()).isEqualTo("[0@h1] rank 0 of 2\n");
        assertThat(worker.await().out()).isEqualTo("[1@h2] rank 1 of 2\n");
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
                "echo rank $RANK of $WORLD_SIZE at $MASTER_ADDR");
    }
}
