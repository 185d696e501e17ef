package io.jrun.launcher.dashboard;

import com.sun.net.httpserver.Headers;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;

/**
 * Decides whether a request may be answered. The name in the header Host must be the server's, so that the page of
 * another site cannot reach the server by a name of its own (DNS rebinding). A header Origin must be the server's own.
 * Everything but the scripts needs the token. Immutable.
 */
final class AccessCheck {
    private static final int TOKEN_BYTES = 24;

    private final String token;
    private final PageHost host;
    private final String portSuffix;

    AccessCheck(PageHost host, int port) {
        byte[] random = new byte[TOKEN_BYTES];
        new SecureRandom().nextBytes(random);
        this.token = HexFormat.of().formatHex(random);
        this.host = host;
        this.portSuffix = ":" + port;
    }

    String token() {
        return token;
    }

    /** Why the request is refused, before its path is looked at; empty if it is not. */
    Optional<String> problem(Headers headers) {
        String called = headers.getFirst("Host");
        if (called == null || !isOwn(called)) {
            return Optional.of("this server answers only requests to " + host.shown() + " and localhost");
        }
        String origin = headers.getFirst("Origin");
        String scheme = host.scheme() + "://";
        if (origin != null && !(origin.startsWith(scheme) && isOwn(origin.substring(scheme.length())))) {
            return Optional.of("this server answers no requests of other pages");
        }
        return Optional.empty();
    }

    private boolean isOwn(String hostAndPort) {
        return hostAndPort.endsWith(portSuffix)
                && host.isCalled(hostAndPort.substring(0, hostAndPort.length() - portSuffix.length()));
    }

    /** Whether the request has the token. The time of the comparison does not depend on the token. */
    boolean isAuthorized(URI request) {
        byte[] given = Query.of(request).text("token").getBytes(StandardCharsets.UTF_8);
        return MessageDigest.isEqual(given, token.getBytes(StandardCharsets.UTF_8));
    }
}
