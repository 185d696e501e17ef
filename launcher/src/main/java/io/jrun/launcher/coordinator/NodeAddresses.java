package io.jrun.launcher.coordinator;

import io.jrun.launcher.layout.Node;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.util.List;

/**
 * The addresses at which the nodes of a job reach each other. Each agent has sent the address at which the launcher
 * reached it. For the launcher's own host this may be a loopback address (Debian's /etc/hosts maps the host name to
 * 127.0.1.1), which other hosts cannot use. Stateless.
 */
final class NodeAddresses {
    private NodeAddresses() {}

    /**
     * The nodes. In a job with other hosts, a loopback address is replaced by the address of this host on the route to
     * them.
     */
    static List<Node> forAll(List<Node> nodes) {
        return nodes.stream()
                .map(Node::address)
                .filter(address -> !isLoopback(address))
                .findFirst()
                .map(other -> nodes.stream()
                        .map(node -> isLoopback(node.address()) ? node.withAddress(sourceTowards(other)) : node)
                        .toList())
                .orElse(nodes);
    }

    private static boolean isLoopback(String address) {
        return InetAddress.ofLiteral(address).isLoopbackAddress();
    }

    /** Connects a datagram socket, which sends nothing: the kernel chooses the route and with it the local address. */
    private static String sourceTowards(String other) {
        try (DatagramChannel channel = DatagramChannel.open()) {
            channel.connect(new InetSocketAddress(InetAddress.ofLiteral(other), 9));
            return ((InetSocketAddress) channel.getLocalAddress()).getAddress().getHostAddress();
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "the kernel has no route to " + other + ", although the launcher has reached the agent there", e);
        }
    }
}
