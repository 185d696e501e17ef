package io.jrun.launcher.dashboard;

import io.jrun.launcher.job.UsageException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The host at which the page is served, and the names by which browsers may call the host. A page that other machines
 * can reach is served over TLS only, because its URL has the token. Immutable.
 *
 * @param host the name or address that the user gave
 * @param address where the server listens
 * @param tls the certificate; empty without TLS
 */
record PageHost(String host, InetAddress address, Optional<ServerIdentity> tls) {
    /** @throws UsageException with one line if the host does not exist, or needs TLS */
    static PageHost of(String host, Optional<ServerIdentity> tls) {
        try {
            InetAddress address = InetAddress.getByName(host);
            if (!address.isLoopbackAddress() && tls.isEmpty()) {
                throw new UsageException("--host: other machines can reach " + host
                        + ", so --tls-certificate and --tls-key are needed; or leave out --host and use 'ssh -L'.");
            }
            return new PageHost(host, address, tls);
        } catch (UnknownHostException e) {
            throw new UsageException("--host: " + host + " is no name or address of this machine.");
        }
    }

    String scheme() {
        return tls.isPresent() ? "https" : "http";
    }

    /** The host in the URL of the page. */
    String shown() {
        if (!address.isAnyLocalAddress()) {
            return bracketed(host);
        }
        return tls.stream()
                .flatMap(identity -> identity.names().stream())
                .filter(name -> !name.startsWith("*"))
                .findFirst()
                .map(PageHost::bracketed)
                .orElse("localhost");
    }

    private static String bracketed(String name) {
        return name.contains(":") && !name.startsWith("[") ? "[" + name + "]" : name;
    }

    /** Whether a browser may call the host by this name: one of this machine's own, or one of the certificate. */
    boolean isCalled(String name) {
        List<String> names = new ArrayList<>(List.of("127.0.0.1", "localhost", bracketed(host)));
        tls.ifPresent(identity -> identity.names().forEach(each -> names.add(bracketed(each))));
        return names.stream().anyMatch(each -> matches(each.toLowerCase(Locale.ROOT), name.toLowerCase(Locale.ROOT)));
    }

    private static boolean matches(String allowed, String name) {
        int dot = name.indexOf('.');
        return allowed.equals(name)
                || (allowed.startsWith("*.") && dot > 0 && allowed.substring(1).equals(name.substring(dot)));
    }
}
