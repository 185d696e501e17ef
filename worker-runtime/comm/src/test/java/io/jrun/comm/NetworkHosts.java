package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/**
 * Hosts of a test: network namespaces that a bridge in a separate namespace connects, with address 10.98.0.K on host K.
 * They share the files and processes of this machine. Needs root and iproute2.
 */
final class NetworkHosts implements AutoCloseable {
    private static final long COMMAND_SECONDS = 30;

    private final String prefix = "jrt" + ProcessHandle.current().pid() + "-";
    private final int count;

    private NetworkHosts(int count) {
        this.count = count;
    }

    /** Skips the test, saying why, where hosts cannot be made. */
    static void assumePossible() throws IOException {
        String probe = "jrt" + ProcessHandle.current().pid() + "-probe";
        try {
            execute("ip netns add " + probe);
        } catch (IOException | AssertionError e) {
            String reason = "skipped: network namespaces need root and iproute2: " + e.getMessage();
            System.out.println(reason);
            Assumptions.abort(reason);
        }
        execute("ip netns delete " + probe);
    }

    /** @param rate limit of each host's sending rate in the syntax of tc; empty: unlimited */
    static NetworkHosts start(int count, String rate) throws IOException {
        NetworkHosts hosts = new NetworkHosts(count);
        String bridge = hosts.prefix + "net";
        execute("ip netns add " + bridge);
        execute("ip -n " + bridge + " link add net0 type bridge");
        execute("ip -n " + bridge + " link set net0 up");
        for (int host = 0; host < count; host++) {
            String name = hosts.namespace(host);
            execute("ip netns add " + name);
            execute("ip -n " + bridge + " link add port" + host + " type veth peer name eth0 netns " + name);
            execute("ip -n " + bridge + " link set port" + host + " master net0 up");
            execute("ip -n " + name + " addr add " + hosts.address(host) + "/24 dev eth0");
            execute("ip -n " + name + " link set lo up");
            execute("ip -n " + name + " link set eth0 up");
            if (!rate.isEmpty()) {
                execute("tc -n " + name + " qdisc add dev eth0 root tbf rate " + rate + " burst 1mb latency 50ms");
            }
        }
        return hosts;
    }

    String address(int host) {
        return "10.98.0." + (host + 1);
    }

    /** Returns the prefix of a command line that runs on {@code host}. */
    List<String> command(int host) {
        return List.of("ip", "netns", "exec", namespace(host));
    }

    /** Returns the counters of sent data of {@code host}, from its interface and its TCP. */
    Traffic sent(int host) throws IOException {
        String inside = "ip netns exec " + namespace(host) + " cat ";
        List<String> numbers = execute(
                        inside + "/sys/class/net/eth0/statistics/tx_bytes /sys/class/net/eth0/statistics/tx_packets")
                .lines()
                .toList();
        List<List<String>> tcp = execute(inside + "/proc/net/snmp")
                .lines()
                .filter(line -> line.startsWith("Tcp: "))
                .map(line -> Arrays.asList(line.split(" ", -1)))
                .toList();
        int resent = tcp.getFirst().indexOf("RetransSegs");
        return new Traffic(
                Long.parseLong(numbers.getFirst()),
                Long.parseLong(numbers.getLast()),
                Long.parseLong(tcp.getLast().get(resent)));
    }

    /** Bytes that programs on {@code host} have sent to others there, with headers. */
    long sentInside(int host) throws IOException {
        String count = execute("ip netns exec " + namespace(host) + " cat /sys/class/net/lo/statistics/tx_bytes");
        return Long.parseLong(count.strip());
    }

    /**
     * Counters.
     *
     * @param bytes with the headers of packets, from Ethernet's on
     * @param resentSegments number of TCP retransmissions
     */
    record Traffic(long bytes, long packets, long resentSegments) {
        Traffic since(Traffic earlier) {
            return new Traffic(
                    bytes - earlier.bytes, packets - earlier.packets, resentSegments - earlier.resentSegments);
        }
    }

    @Override
    public void close() throws IOException {
        for (int host = 0; host < count; host++) {
            execute("ip netns delete " + namespace(host));
        }
        execute("ip netns delete " + prefix + "net");
    }

    private String namespace(int host) {
        return prefix + host;
    }

    private static String execute(String command) throws IOException {
        Path output = Files.createTempFile("jrun-hosts", ".out");
        try {
            Process process = new ProcessBuilder(command.split(" "))
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            int exitCode = process.onExit()
                    .orTimeout(COMMAND_SECONDS, TimeUnit.SECONDS)
                    .join()
                    .exitValue();
            String text = Files.readString(output);
            assertThat(exitCode).as(command + ": " + text).isZero();
            return text;
        } finally {
            Files.delete(output);
        }
    }
}
