package io.jrun.launcher.registration;

import io.jrun.agent.LauncherAddress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The addresses at which agents may reach this launcher. The launcher does not know which networks it shares with
 * agents.
 */
final class LauncherAddresses {
    /** An address for documentation (RFC 5737). No host has it, and its route is the default route. */
    private static final String ANYWHERE = "192.0.2.1";

    /** Bridges of containers and virtual machines, which other machines cannot reach. */
    private static final String INNER_INTERFACE = "(docker|br-|virbr|veth|cni|flannel|lxc|podman).*";

    private LauncherAddresses() {}

    /** All addresses of this machine with {@code port}, the most likely first, loopback last. */
    static List<LauncherAddress> withPort(int port) {
        Set<InetAddress> addresses = new LinkedHashSet<>();
        towardsAnywhere().ifPresent(addresses::add);
        try {
            List<NetworkInterface> interfaces = new ArrayList<>(NetworkInterface.networkInterfaces()
                    .filter(LauncherAddresses::isUp)
                    .toList());
            interfaces.sort(Comparator.comparing(LauncherAddresses::isInner));
            for (NetworkInterface each : interfaces) {
                each.inetAddresses()
                        .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
                        .sorted(Comparator.comparing(address -> !(address instanceof Inet4Address)))
                        .forEach(addresses::add);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("this machine's network interfaces cannot be listed", e);
        }
        addresses.add(InetAddress.ofLiteral("127.0.0.1"));
        return addresses.stream()
                .map(address -> new LauncherAddress(address.getHostAddress().replaceFirst("%.*", ""), port))
                .toList();
    }

    private static boolean isUp(NetworkInterface each) {
        try {
            return each.isUp();
        } catch (IOException e) {
            return false; // the interface was just removed
        }
    }

    private static boolean isInner(NetworkInterface each) {
        return each.getName().matches(INNER_INTERFACE);
    }

    /** Connects a datagram socket, which sends nothing: the kernel chooses the route and with it the local address. */
    private static Optional<InetAddress> towardsAnywhere() {
        try (DatagramChannel channel = DatagramChannel.open()) {
            channel.connect(new InetSocketAddress(InetAddress.ofLiteral(ANYWHERE), 9));
            return Optional.of(((InetSocketAddress) channel.getLocalAddress()).getAddress())
                    .filter(address -> !address.isAnyLocalAddress());
        } catch (IOException e) {
            return Optional.empty(); // no default route
        }
    }
}
