package io.jrun.launcher.registration;

import io.jrun.agent.AgentSecret;
import io.jrun.agent.OutboundAgent;
import io.jrun.agent.worker.AgentOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** An agent of this JVM that dials a launcher, on a thread of its own. */
final class TestOutboundAgent {
    private TestOutboundAgent() {}

    /** Starts the agent. Completes with the end of the agent. */
    static CompletableFuture<OutboundAgent.End> start(
            JoinToken joinToken, AgentSecret secret, String version, String job, String node) {
        OutboundAgent.DialSettings call =
                new OutboundAgent.DialSettings(joinToken.launchers(), job, node, "", "", Duration.ZERO);
        AgentOptions options = new AgentOptions(version, List.of(), Optional.empty());
        CompletableFuture<OutboundAgent.End> end = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> {
            try {
                end.complete(new OutboundAgent(call, secret, options, Optional.empty()).serve());
            } catch (IOException | InterruptedException | RuntimeException e) {
                end.completeExceptionally(e);
            }
        });
        return end;
    }
}
