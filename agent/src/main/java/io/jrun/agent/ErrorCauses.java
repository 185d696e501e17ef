package io.jrun.agent;

import io.grpc.Status;
import java.net.NoRouteToHostException;
import java.nio.channels.ClosedChannelException;
import java.util.Optional;

/** What lies behind a call that has failed, in words for the user. Stateless. */
public final class ErrorCauses {
    private ErrorCauses() {}

    /** The cause of this type, or one of those behind it. */
    public static <T extends Throwable> Optional<T> find(Status status, Class<T> type) {
        for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
            if (type.isInstance(cause)) {
                return Optional.of(type.cast(cause));
            }
        }
        return Optional.empty();
    }

    /** Whether the other side closed the connection without a word, or its kernel did. */
    public static boolean isDropped(Status status) {
        return find(status, ClosedChannelException.class).isPresent()
                || first(status).contains("Connection reset");
    }

    /** The first cause of all, or where none is known the status's own words. */
    public static String first(Status status) {
        Throwable cause = status.getCause();
        while (cause != null && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause == null ? firstLine(String.valueOf(status.getDescription())) : words(cause);
    }

    /** The network library names system calls, and has no words where there is no route. */
    public static String words(Throwable cause) {
        return cause instanceof NoRouteToHostException
                ? "No route to host"
                : firstLine(String.valueOf(cause.getMessage()))
                        .replaceFirst("^\\w+\\(\\.\\.\\) failed with error\\(-\\d+\\): ", "");
    }

    /** Below it gRPC lists the handlers of a broken connection. */
    public static String firstLine(String text) {
        return text.lines().findFirst().orElse("");
    }
}
