package io.jrun.launcher.registration;

import io.jrun.agent.AgentSecret;
import io.jrun.agent.LauncherAddress;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The data that an agent needs to join a job.
 *
 * @param launchers the launcher's addresses, the most likely first
 * @param secret in hexadecimal; only the agents of this job know it. Never part of a command line or an environment
 */
public record JoinToken(List<LauncherAddress> launchers, String secret) {
    public JoinToken {
        launchers = List.copyOf(launchers);
    }

    /** A token with a secret made of {@code random} bytes. */
    static JoinToken to(List<LauncherAddress> launchers, byte[] random) {
        return new JoinToken(launchers, HexFormat.of().formatHex(random));
    }

    /** The secret of the connections. Both sides derive it from the first line of the agent's stdin. */
    AgentSecret agentSecret() {
        return AgentSecret.of(secret.getBytes(StandardCharsets.US_ASCII));
    }

    /** The arguments of jrun for the agent of a node: {@code agent --launcher ADDRESSES --node NAME}. */
    public List<String> words(String node) {
        String addresses = launchers.stream().map(LauncherAddress::toString).collect(Collectors.joining(","));
        return List.of("agent", "--launcher=" + addresses, "--node=" + node);
    }

    /** The name of a node. */
    public static String node(int nodeRank) {
        return Integer.toString(nodeRank);
    }

    /** The addresses, without the secret. */
    @Override
    public String toString() {
        return "JoinToken" + launchers;
    }
}
