package io.jrun.launcher.registration;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.OutboundAgent;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.FromAgent;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Where the nodes of a job meet, each started by its user. */
class AgentRegistryTest {
    private static final byte[] RANDOM = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    @Test
    void whoComesWithAnotherVersionLeavesThePlaceToTheNext() throws Exception {
        CompletableFuture<Status> end = new CompletableFuture<>();
        JoinToken unaddressed = JoinToken.to(List.of(), RANDOM);
        try (AgentRegistry arrivals = AgentRegistry.listen(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                unaddressed.agentSecret(),
                "1",
                "job",
                line -> {})) {
            AgentSlot place = arrivals.expect("0", "a");
            JoinToken invitation = JoinToken.to(LauncherAddresses.withPort(arrivals.port()), RANDOM);
            assertThat(come("2", invitation).get(60, TimeUnit.SECONDS))
                    .isInstanceOfSatisfying(
                            OutboundAgent.End.Refused.class,
                            refused -> assertThat(refused.why()).contains("launcher is jrun 1", "agent is jrun 2"));
            assertThat(place.arrival().isOnThisMachine()).isFalse();
            CompletableFuture<OutboundAgent.End> stays = come("1", invitation);
            place.arrival().arrived().get(60, TimeUnit.SECONDS);
            var _ = AgentGrpc.newStub(place.agent().channel()).control(ending(end));
            arrivals.tell(0);
            assertThat(stays.get(60, TimeUnit.SECONDS)).isInstanceOf(OutboundAgent.End.Served.class);
        }
        assertThat(end.get(60, TimeUnit.SECONDS).getCode())
                .as("the coordinator hears nothing of the refusal")
                .isNotEqualTo(Status.Code.FAILED_PRECONDITION);
    }

    private static StreamObserver<FromAgent> ending(CompletableFuture<Status> end) {
        return new StreamObserver<>() {
            @Override
            public void onNext(FromAgent message) {}

            @Override
            public void onError(Throwable error) {
                end.complete(Status.fromThrowable(error));
            }

            @Override
            public void onCompleted() {
                end.complete(Status.OK);
            }
        };
    }

    private static CompletableFuture<OutboundAgent.End> come(String version, JoinToken invitation) {
        return Visit.begin(invitation, invitation.agentSecret(), version, "job", "0");
    }
}
