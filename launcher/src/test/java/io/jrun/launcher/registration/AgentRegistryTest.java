package io.jrun.launcher.registration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.OutboundAgent;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The meeting of the nodes of a job, each started by its user. */
class AgentRegistryTest {
    private static final byte[] RANDOM = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    @Test
    void anAgentOfAnotherVersionLeavesTheSlotToTheNextAgent() throws Exception {
        JoinToken unaddressed = JoinToken.to(List.of(), RANDOM);
        try (AgentRegistry arrivals = AgentRegistry.listen(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                unaddressed.agentSecret(),
                "1",
                "job",
                line -> {})) {
            AgentSlot place = arrivals.expect("0", "a");
            JoinToken joinToken = JoinToken.to(LauncherAddresses.withPort(arrivals.port()), RANDOM);
            assertThat(dial("2", joinToken).get(60, TimeUnit.SECONDS))
                    .isInstanceOfSatisfying(
                            OutboundAgent.End.RefusedByLauncher.class,
                            refused -> assertThat(refused.why()).contains("launcher is jrun 1", "agent is jrun 2"));
            assertThat(place.arrival().isPresent()).isFalse();
            CompletableFuture<OutboundAgent.End> stays = dial("1", joinToken);
            place.arrival().arrived().get(60, TimeUnit.SECONDS);
            assertThat(place.connect())
                    .as("the coordinator hears nothing of the refusal")
                    .succeedsWithin(Duration.ofSeconds(60));
            arrivals.sendExitCode(0);
            assertThat(stays.get(60, TimeUnit.SECONDS)).isInstanceOf(OutboundAgent.End.Served.class);
        }
    }

    private static CompletableFuture<OutboundAgent.End> dial(String version, JoinToken joinToken) {
        return TestOutboundAgent.start(joinToken, joinToken.agentSecret(), version, "job", "0");
    }
}
