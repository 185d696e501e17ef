package io.jrun.launcher.registration;

import io.jrun.agent.AgentSecret;
import io.jrun.agent.LauncherAddress;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What an agent must know to come.
 *
 * @param homes the launcher's addresses, the likeliest first
 * @param secret in hexadecimal; known to this job's agents alone, never part of a command line or an environment
 */
public record JoinToken(List<LauncherAddress> homes, String secret) {
    public JoinToken {
        homes = List.copyOf(homes);
    }

    /** An invitation with a secret made of {@code random} bytes. */
    static JoinToken to(List<LauncherAddress> homes, byte[] random) {
        return new JoinToken(homes, HexFormat.of().formatHex(random));
    }

    /** What makes the connections: both sides derive it from the line that the agent reads on its stdin. */
    AgentSecret agentSecret() {
        return AgentSecret.of(secret.getBytes(StandardCharsets.US_ASCII));
    }

    /** jrun's words for the agent of a node: {@code agent --home ADDRESSES --node NAME}. */
    public List<String> words(String node) {
        String addresses = homes.stream().map(LauncherAddress::toString).collect(Collectors.joining(","));
        return List.of("agent", "--home=" + addresses, "--node=" + node);
    }

    /** The name of a node. */
    public static String node(int nodeRank) {
        return Integer.toString(nodeRank);
    }

    /** Without the secret. */
    @Override
    public String toString() {
        return "JoinToken" + homes;
    }
}
