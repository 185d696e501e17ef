package io.jrun.launcher.scale;

import io.jrun.agent.AgentSecret;
import io.jrun.agent.LauncherAddress;
import io.jrun.agent.OutboundAgent;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The program that {@code scripts/bench/scale} puts in the place of srun: jrun believes that it starts an agent on each
 * node of a large allocation; all of them are in this process, each with a connection of its own, as real agents that
 * dial home are, with simulated workers. Writes what it has measured, see {@link Timeline}, as a line of JSON.
 */
public final class SimulatedNodes {
    /** Names the file for the result. */
    private static final String RESULT_VARIABLE = "JRUN_SCALE_RESULT";

    /** Names the seconds for which the workers report metrics. */
    private static final String REPORTS_VARIABLE = "JRUN_SCALE_REPORTS";

    /** Names jrun's version. */
    private static final String VERSION_VARIABLE = "JRUN_SCALE_VERSION";

    /** Nodes that knock at the same time: each would have a processor of its own for its part of the handshake. */
    private static final int KNOCKING = 64;

    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final Pattern LAUNCHERS = Pattern.compile("--launcher=([^\" ]+)");
    private static final Pattern NODES = Pattern.compile("--ntasks=(\\d+)");

    private SimulatedNodes() {}

    /** Takes srun's arguments, and the job's secret as the first line of stdin. */
    public static void main(String[] args) throws IOException, InterruptedException, ExecutionException {
        String words = String.join(" ", args);
        List<LauncherAddress> launchers = Arrays.stream(match(LAUNCHERS, words).split(",", -1))
                .map(SimulatedNodes::address)
                .toList();
        String secret = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII)).readLine();
        int nodes = Integer.parseInt(match(NODES, words));
        Timeline timeline = new Timeline(
                nodes, ProcessHandle.current().parent().orElseThrow(), Integer.parseInt(variable(REPORTS_VARIABLE)));
        AgentSecret agentSecret = AgentSecret.of(secret.getBytes(StandardCharsets.US_ASCII));
        serve(
                timeline,
                nodes,
                node -> new OutboundAgent.DialSettings(launchers, "", Integer.toString(node), ip(node), "", TIMEOUT),
                agentSecret);
        Files.writeString(Path.of(variable(RESULT_VARIABLE)), timeline.json() + "\n");
        System.exit(0);
    }

    /** The address that a node dials. */
    private interface Calls {
        OutboundAgent.DialSettings of(int node);
    }

    private static void serve(Timeline timeline, int nodes, Calls calls, AgentSecret secret)
            throws InterruptedException, ExecutionException {
        Semaphore turns = new Semaphore(KNOCKING);
        try (ExecutorService agents = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<OutboundAgent.End>> ends = new ArrayList<>();
            for (int node = 0; node < nodes; node++) {
                SimulatedNode simulated = new SimulatedNode(node, timeline, turns::release);
                OutboundAgent agent = new OutboundAgent(calls.of(node), secret, variable(VERSION_VARIABLE), simulated);
                ends.add(agents.submit(() -> {
                    turns.acquire();
                    return agent.serve();
                }));
            }
            for (Future<OutboundAgent.End> end : ends) {
                if (!(end.get() instanceof OutboundAgent.End.Served served)
                        || !served.why().isEmpty()) {
                    throw new IllegalStateException("an agent's visit ended with " + end.get());
                }
            }
        }
    }

    private static LauncherAddress address(String text) {
        int colon = text.lastIndexOf(':');
        String host = text.substring(0, colon).replaceAll("[\\[\\]]", "");
        return new LauncherAddress(host, Integer.parseInt(text.substring(colon + 1)));
    }

    /** An address that no two nodes have, and no machine here. */
    private static String ip(int node) {
        return "10.99." + node / 250 + "." + (node % 250 + 1);
    }

    private static String match(Pattern pattern, String words) {
        Matcher matcher = pattern.matcher(words);
        if (!matcher.find()) {
            throw new IllegalArgumentException(pattern + " is not in the arguments " + words);
        }
        return matcher.group(1);
    }

    private static String variable(String name) {
        return Objects.requireNonNull(System.getenv(name), name);
    }
}
