package io.jrun.launcher.registration;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.AgentSecret;
import io.jrun.agent.OutboundAgent;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileEntry;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.FileTree;
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.OpenJob;
import io.jrun.comm.file.Sha256;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Agents that dial the launcher over real sockets, seen from the coordinator's side. */
class LaunchedAgentsTest {
    private static final long DEADLINE_SECONDS = 60;
    private static final String VERSION = "1";
    private static final ByteString SECRET = ByteString.copyFromUtf8("secret");

    @TempDir
    private Path folder;

    private final CompletableFuture<JoinToken> passedToken = new CompletableFuture<>();
    private final BlockingQueue<String> said = new LinkedBlockingQueue<>();
    private final BlockingQueue<Object> heard = new LinkedBlockingQueue<>();
    private @Nullable LaunchedAgents launched;

    /** Ends the starts, as their agents' ends would. */
    @AfterEach
    void close() throws IOException {
        Files.writeString(folder.resolve("end"), "");
        Objects.requireNonNull(launched).close();
    }

    /** The agents of these tests run in this JVM; this start is there until the test's end. */
    private void call(String... hosts) throws IOException {
        callBy("until [ -e '" + folder.resolve("end") + "' ]; do sleep 0.05; done", hosts);
    }

    /** Each host's start is this shell script. */
    private void callBy(String script, String... hosts) throws IOException {
        AgentLauncher agentLauncher = (names, nodes, joinToken) -> {
            passedToken.complete(joinToken);
            return nodes.stream()
                    .map(node -> new AgentLauncher.LaunchCommand(
                            names.get(node), List.of(node), List.of("sh", "-c", script, "start", names.get(node))))
                    .toList();
        };
        launched = LaunchedAgents.call(
                List.of(hosts),
                agentLauncher,
                "0123456789abcdef".getBytes(StandardCharsets.US_ASCII),
                VERSION,
                said::add);
    }

    private CompletableFuture<OutboundAgent.End> arrive(String version, AgentSecret secret, String node) {
        return TestOutboundAgent.start(passedToken.join(), secret, version, "", node);
    }

    private CompletableFuture<OutboundAgent.End> arrive(String node) {
        return arrive(VERSION, passedToken.join().agentSecret(), node);
    }

    private CompletableFuture<AgentGrpc.AgentStub> connect(int node) {
        CompletableFuture<Channel> agent =
                Objects.requireNonNull(launched).agents().get(node).route().connect();
        return agent.whenComplete((_, problem) -> {
                    if (problem != null) {
                        heard.add(Status.fromThrowable(problem));
                    }
                })
                .thenApply(AgentGrpc::newStub);
    }

    /** Puts all it hears, and a status in the end, where {@link #next} finds it. */
    private <M> StreamObserver<M> listener() {
        return new StreamObserver<>() {
            @Override
            public void onNext(M message) {
                heard.add(message);
            }

            @Override
            public void onError(Throwable error) {
                heard.add(Status.fromThrowable(error));
            }

            @Override
            public void onCompleted() {
                heard.add(Status.OK);
            }
        };
    }

    private CompletableFuture<StreamObserver<ControlRequest>> open(int node) {
        return connect(node).thenApply(agent -> open(node, agent, OpenJob.newBuilder()));
    }

    private StreamObserver<ControlRequest> open(int node, AgentGrpc.AgentStub agent, OpenJob.Builder job) {
        StreamObserver<ControlRequest> orders = agent.control(this.<ControlResponse>listener());
        orders.onNext(ControlRequest.newBuilder()
                .setOpenJob(job.setJrunVersion(VERSION)
                        .setRunId("launched-" + node)
                        .setLogDir(folder.toString())
                        .setJobSecret(SECRET))
                .build());
        return orders;
    }

    private Object next() throws InterruptedException {
        Object next = heard.poll(DEADLINE_SECONDS, TimeUnit.SECONDS);
        assertThat(next).isNotNull();
        return next;
    }

    private static OutboundAgent.End ended(CompletableFuture<OutboundAgent.End> end) throws Exception {
        return end.get(DEADLINE_SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void agentThatArrivesLaterServesEarlierCalls() throws Exception {
        call("a", "b");
        CompletableFuture<StreamObserver<ControlRequest>> orders = open(1);
        CompletableFuture<OutboundAgent.End> end = arrive("1");
        assertThat(((ControlResponse) next()).getJobOpened().getAddress()).isNotEmpty();
        orders.join().onCompleted();
        close(); // or the agent waits 20 s for word of the job's exit code
        assertThat(ended(end)).isEqualTo(new OutboundAgent.End.Served("", OptionalInt.empty()));
    }

    @Test
    void anAgentThatWasLostIsStartedAgainWhenTheCoordinatorCallsAgain() throws Exception {
        Path starts = folder.resolve("starts");
        callBy(
                "echo start >> '" + starts + "'; until [ -e '" + folder.resolve("end") + "' ]; do sleep 0.05; done",
                "a");
        CompletableFuture<StreamObserver<ControlRequest>> orders = open(0);
        CompletableFuture<OutboundAgent.End> first = arrive("0");
        assertThat(((ControlResponse) next()).hasJobOpened()).isTrue();
        orders.join().onError(Status.CANCELLED.withDescription("it is silent").asRuntimeException());
        assertThat(next()).isInstanceOf(Status.class);

        var _ = open(0);
        assertThat(ended(first)).isEqualTo(new OutboundAgent.End.Served("", OptionalInt.empty()));
        CompletableFuture<OutboundAgent.End> second = arrive("0");
        assertThat(((ControlResponse) next()).hasJobOpened()).isTrue();
        close();
        assertThat(ended(second)).isInstanceOf(OutboundAgent.End.Served.class);
        assertThat(Files.readAllLines(starts)).containsExactly("start", "start");
    }

    @Test
    void filesAreRequestedFromTheLauncher() throws Exception {
        Path words = Files.writeString(folder.resolve("words"), "abc");
        call("a");
        CompletableFuture<AgentGrpc.AgentStub> agent = connect(0);
        CompletableFuture<OutboundAgent.End> end = arrive("0");
        open(
                0,
                agent.get(DEADLINE_SECONDS, TimeUnit.SECONDS),
                OpenJob.newBuilder()
                        .setWorkingDir(folder.toString())
                        .addFiles(FileTree.newBuilder()
                                .setPath(words.toString())
                                .addEntries(FileEntry.newBuilder().setSize(3))));
        assertThat(((ControlResponse) next()).hasJobOpened()).isTrue();
        StreamObserver<FileChunk> files = agent.join().files(this.<FileRequest>listener());
        files.onNext(FileChunk.newBuilder()
                .setJob(JobClaim.newBuilder().setRunId("launched-0").setJobSecret(SECRET))
                .build());
        assertThat(((FileRequest) next()).getDigest()).isTrue();
        files.onNext(FileChunk.newBuilder()
                .setSha256(ByteString.copyFrom(Sha256.of(words)))
                .build());
        assertThat(next()).isEqualTo(Status.OK);
        close();
        assertThat(ended(end)).isInstanceOf(OutboundAgent.End.Served.class);
    }

    @Test
    void closingEndsTheLaunchedAgents() throws Exception {
        call("a");
        CompletableFuture<OutboundAgent.End> end = arrive("0");
        var _ = open(0);
        assertThat(((ControlResponse) next()).hasJobOpened()).isTrue();
        close();
        assertThat(ended(end)).isInstanceOf(OutboundAgent.End.Served.class);
    }

    @Test
    void aStartThatEndsBeforeItsAgentArrivesIsReportedWithItsOutput() throws Exception {
        callBy("read -r secret; echo no way to $1; exit 3", "a");
        var _ = open(0);
        assertThat(next()).isInstanceOfSatisfying(Status.class, status -> {
            assertThat(status.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
            assertThat(status.getDescription()).isEqualTo("its start ended with exit code 3: no way to a");
        });
    }

    @Test
    void theSecretComesOnStdinAlone() throws Exception {
        Path file = folder.resolve("stdin");
        callBy(
                "cat > '" + file + "'; tr '\\0' '\\n' < /proc/self/environ >> '" + file + "'; echo \"$*\" >> '" + file
                        + "'; echo done; exit 1",
                "a");
        var _ = open(0);
        next();
        String secret = passedToken.join().secret();
        assertThat(Files.readString(file)).startsWith(secret + "\n").containsOnlyOnce(secret);
        assertThat(passedToken.join().words("0")).noneMatch(word -> word.contains(secret));
        assertThat(passedToken.join().toString()).doesNotContain(secret);
    }

    @Test
    void anotherVersionIsReportedOnBothSides() throws Exception {
        call("a");
        var _ = open(0);
        CompletableFuture<OutboundAgent.End> end =
                arrive("2", passedToken.join().agentSecret(), "0");
        assertThat(ended(end))
                .isInstanceOfSatisfying(
                        OutboundAgent.End.RefusedByLauncher.class,
                        refused -> assertThat(refused.why()).contains("launcher is jrun 1", "agent is jrun 2"));
        assertThat(next())
                .isInstanceOfSatisfying(
                        Status.class,
                        status -> assertThat(status.getDescription())
                                .contains("the agent is jrun 2, the launcher is jrun 1"));
    }

    @Test
    void aStrangerFindsNoPlace() throws Exception {
        call("a");
        OutboundAgent.End end =
                ended(arrive(VERSION, AgentSecret.of("another secret of 16".getBytes(StandardCharsets.US_ASCII)), "0"));
        assertThat(end).isInstanceOf(OutboundAgent.End.NotReached.class);
        assertThat(said.poll(DEADLINE_SECONDS, TimeUnit.SECONDS)).contains("refused a caller");
        assertThat(ended(arrive("7")))
                .isInstanceOfSatisfying(
                        OutboundAgent.End.RefusedByLauncher.class,
                        refused -> assertThat(refused.why()).isEqualTo("this job has no node '7'"));
        CompletableFuture<OutboundAgent.End> first = arrive("0");
        var _ = open(0);
        assertThat(((ControlResponse) next()).hasJobOpened()).isTrue();
        assertThat(ended(arrive("0")))
                .isInstanceOfSatisfying(
                        OutboundAgent.End.RefusedByLauncher.class,
                        refused -> assertThat(refused.why()).startsWith("another agent has arrived for node '0'"));
        close();
        assertThat(ended(first)).isInstanceOf(OutboundAgent.End.Served.class);
    }
}
