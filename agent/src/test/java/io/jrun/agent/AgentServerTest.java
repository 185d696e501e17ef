package io.jrun.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.jrun.agent.proto.JobOpened;
import io.jrun.agent.proto.OpenJob;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class AgentServerTest {
    private static final AgentSecret SECRET = secret("0123456789abcdef");

    @TempDir
    Path folder;

    private final List<String> log = new CopyOnWriteArrayList<>();

    @Test
    void standingAgentRunsAJobOverASocket() throws IOException {
        try (AgentServer agent = AgentServer.listen(0, SECRET, TestJob.options(), log::add)) {
            ManagedChannel channel = channel(agent, SECRET);
            try (TestJob job = TestJob.over(channel, folder)) {
                job.open();
                job.launch(job.shells(2, "echo hello; exit 3"));
                assertThat(job.exited(1).getExitCode()).isEqualTo(3);
                assertThat(job.stdout(1)).isEqualTo("hello\n");
            } finally {
                channel.shutdownNow();
            }
        }
        assertThat(log).isEmpty();
    }

    @Test
    void callerWithoutTheSecretIsRefusedAndLoggedOnce() throws IOException {
        try (AgentServer agent = AgentServer.listen(0, SECRET, TestJob.options(), log::add)) {
            for (int i = 0; i < 2; i++) {
                ManagedChannel channel = channel(agent, secret("fedcba9876543210"));
                try (TestJob job = TestJob.over(channel, folder)) {
                    assertThat(Status.fromThrowable(job.awaitError()).getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
                } finally {
                    channel.shutdownNow();
                }
            }
        }
        assertThat(log).singleElement().asString().startsWith("refused a caller");
    }

    @Test
    void lostLauncherEndsItsWorkersButNotTheAgent() throws IOException {
        try (AgentServer agent = AgentServer.listen(0, SECRET, TestJob.options(), log::add)) {
            ManagedChannel first = channel(agent, SECRET);
            TestJob lost = TestJob.over(first, folder);
            lost.open();
            lost.launch(lost.shells(1, "trap '' TERM; sleep 300"));
            long pid = lost.pid(0);
            first.shutdownNow();
            Processes.await(() -> !Processes.isAlive(pid));

            ManagedChannel second = channel(agent, SECRET);
            try (TestJob next = TestJob.over(second, folder)) {
                next.open();
                next.launch(next.shells(1, "exit 4"));
                assertThat(next.exited(0).getExitCode()).isEqualTo(4);
            } finally {
                second.shutdownNow();
            }
        }
    }

    @Test
    void closingTheAgentKillsItsWorkers() throws IOException {
        AgentServer agent = AgentServer.listen(0, SECRET, TestJob.options(), log::add);
        ManagedChannel channel = channel(agent, SECRET);
        TestJob job = TestJob.over(channel, folder);
        job.open();
        job.launch(job.shells(1, "sleep 300"));
        long pid = job.pid(0);
        agent.close();
        channel.shutdownNow();
        assertThat(Processes.isAlive(pid)).isFalse();
    }

    @Test
    void launcherOfAnotherVersionIsRefused() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            assertThatThrownBy(() -> job.open(
                            job.openRequest().toBuilder().setJrunVersion("9").build()))
                    .cause()
                    .hasMessageContaining("this node's agent is jrun test, the launcher is jrun 9");
        }
    }

    @Test
    void jobOpenedTellsWhatTheNodeOffers() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            JobOpened opened = job.open(
                    job.openRequest().toBuilder().setReserveMasterPort(true).build());
            assertThat(opened.getCores()).isEqualTo(Runtime.getRuntime().availableProcessors());
            assertThat(opened.getHost()).isNotEmpty();
            assertThat(opened.getAddress()).isEqualTo("127.0.0.1");
            assertThat(opened.getMasterPort()).isPositive();
        }
    }

    @Test
    void masterPortInUseRefusesTheJob() throws IOException {
        try (ServerSocket other = new ServerSocket(0);
                TestJob job = TestJob.inProcess(folder)) {
            OpenJob request = job.openRequest().toBuilder()
                    .setReserveMasterPort(true)
                    .setMasterPort(other.getLocalPort())
                    .build();
            assertThatThrownBy(() -> job.open(request))
                    .cause()
                    .hasMessageContaining("--master-port " + other.getLocalPort() + " cannot be reserved");
        }
    }

    @Test
    void weakSecretIsRefused() {
        assertThatThrownBy(() -> secret("short")).hasMessageContaining("has 5 bytes, it needs at least 16");
    }

    private static ManagedChannel channel(AgentServer agent, AgentSecret secret) {
        return NettyChannelBuilder.forAddress("127.0.0.1", agent.port())
                .usePlaintext()
                .intercept(secret.client())
                .build();
    }

    private static AgentSecret secret(String text) {
        return AgentSecret.of(text.getBytes(StandardCharsets.US_ASCII));
    }
}
