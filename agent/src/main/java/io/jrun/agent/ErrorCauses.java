package io.jrun.agent;

import io.grpc.Status;
import java.net.NoRouteToHostException;
import java.nio.channels.ClosedChannelException;
import java.util.Optional;

/** The causes of a failed call, in words for the user. Stateless. */
public final class ErrorCauses {
    private ErrorCauses() {}

    /** The first cause of this type in the chain of causes. */
    public static <T extends Throwable> Optional<T> find(Status status, Class<T> type) {
        for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
            if (type.isInstance(cause)) {
                return Optional.of(type.cast(cause));
            }
        }
        return Optional.empty();
    }

    /** Whether the peer or its kernel closed the connection without a message. */
    public static boolean isDropped(Status status) {
        return find(status, ClosedChannelException.class).isPresent()
                || first(status).contains("Connection reset");
    }

    /** The root cause, or the description of the status without a cause. */
    public static String first(Status status) {
        Throwable cause = status.getCause();
        while (cause != null && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause == null ? firstLine(String.valueOf(status.getDescription())) : words(cause);
    }

    /** Removes the name of the system call that the network library adds, and adds the text for a missing route. */
    public static String words(Throwable cause) {
        return cause instanceof NoRouteToHostException
                ? "No route to host"
                : firstLine(String.valueOf(cause.getMessage()))
                        .replaceFirst("^\\w+\\(\\.\\.\\) failed with error\\(-\\d+\\): ", "");
    }

    /** The first line; gRPC lists the handlers of a broken connection in the lines below. */
    public static String firstLine(String text) {
        return text.lines().findFirst().orElse("");
    }
}
