package io.jrun.launcher.arrival;

import io.jrun.agent.AgentOptions;
import io.jrun.agent.AgentSecret;
import io.jrun.agent.HomeComing;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** An agent of this JVM that comes home, on a thread of its own. */
final class Visit {
    private Visit() {}

    /** How its visit will have ended. */
    static CompletableFuture<HomeComing.End> begin(
            Invitation invitation, AgentSecret secret, String version, String job, String node) {
        HomeComing.Call call = new HomeComing.Call(invitation.homes(), job, node, "", "", Duration.ZERO);
        AgentOptions options = new AgentOptions(version, List.of(), Optional.empty());
        CompletableFuture<HomeComing.End> end = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> {
            try {
                end.complete(new HomeComing(call, secret, options, Optional.empty()).serve());
            } catch (IOException | InterruptedException | RuntimeException e) {
                end.completeExceptionally(e);
            }
        });
        return end;
    }
}
