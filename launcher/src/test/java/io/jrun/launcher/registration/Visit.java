package io.jrun.launcher.registration;

import io.jrun.agent.AgentSecret;
import io.jrun.agent.OutboundAgent;
import io.jrun.agent.worker.AgentOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** An agent of this JVM that comes home, on a thread of its own. */
final class Visit {
    private Visit() {}

    /** How its visit will have ended. */
    static CompletableFuture<OutboundAgent.End> begin(
            JoinToken invitation, AgentSecret secret, String version, String job, String node) {
        OutboundAgent.DialSettings call =
                new OutboundAgent.DialSettings(invitation.homes(), job, node, "", "", Duration.ZERO);
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
