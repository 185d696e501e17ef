package io.jrun.launcher.coordinator;

import io.jrun.launcher.layout.Node;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.util.List;

/**
 * The addresses at which the nodes of a job reach each other. Each agent has told by which address the launcher reached it;
 * for the launcher's own host that may be a loopback address (/etc/hosts names the machine itself so on Debian), which means
 * another machine to everybody else. Stateless.
 */
final class NodeAddresses {
    private NodeAddresses() {}

    /** The nodes with loopback addresses replaced by the one that this host uses towards the others, where there are others. */
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

    /** Connecting a datagram socket sends nothing: the kernel chooses a route, and with it the address of this end. */
    private static String sourceTowards(String other) {
        try (DatagramChannel channel = DatagramChannel.open()) {
            channel.connect(new InetSocketAddress(InetAddress.ofLiteral(other), 9));
            return ((InetSocketAddress) channel.getLocalAddress()).getAddress().getHostAddress();
        } catch (IOException e) {
            throw new UncheckedIOException("no route to " + other + ", whose agent was reached all the same", e);
        }
    }
}
