package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ImageReference;
import java.net.ConnectException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.file.Path;
import java.util.Optional;
import javax.net.ssl.SSLException;
import land.oras.exception.OrasException;

/** The failure of a registry to deliver an image, as one sentence with the reason and the remedy. */
record RegistryFailure(ImageReference.Registry image, Optional<Credential> credential, Path enrootFile) {
    private static final int UNAUTHORIZED = 401;
    private static final int FORBIDDEN = 403;
    private static final int NOT_FOUND = 404;
    private static final int TOO_MANY = 429;

    ContainerException of(OrasException e) {
        Integer status = e.getStatusCode();
        return new ContainerException(status == null || status <= 0 ? unreachable(e) : refused(status, e), e);
    }

    private String refused(int status, OrasException e) {
        String name = "the registry " + image.host();
        return switch (status) {
            case UNAUTHORIZED, FORBIDDEN ->
                credential.isPresent()
                        ? name + " denies " + image.text() + " to the user " + credential.get() + " (" + status
                                + "); check the password in this file, and the name of the image"
                        : name + " requires a user and a password for " + image.text() + " (" + status + "); "
                                + howToLogIn();
            case NOT_FOUND -> name + " has no image " + image.text() + "; check the name and the tag";
            case TOO_MANY -> name + " refuses the request after too many requests (429); log in or try again later";
            default ->
                name + " cannot deliver " + image.text() + " (HTTP " + status + "): " + words(e) + "; try again later";
        };
    }

    String howToLogIn() {
        return "write 'machine " + image.host() + " login USER password PASSWORD' to " + enrootFile
                + ", or run 'docker login " + image.host() + "'";
    }

    private String unreachable(OrasException e) {
        Throwable cause = e;
        Throwable shown = e;
        while (cause.getCause() != null) {
            cause = cause.getCause();
            if (cause instanceof SSLException) {
                return "the registry " + image.host() + " cannot be trusted: " + words(cause)
                        + "; add the registry's certificate authority to the node's"
                        + " certificates, or name the image as http://"
                        + image.host() + "/" + image.repository() + " if the registry has no TLS";
            }
            if (cause instanceof UnresolvedAddressException) {
                return "the registry " + image.host() + " cannot be reached for " + image.text()
                        + ": no host has this name; check the name of the registry and the network of this node"
                        + (image.host().equals(ImageReference.DOCKER_HUB)
                                ? "; the path of a folder begins with / or ./"
                                : "");
            }
            shown = shown instanceof ConnectException ? shown : cause;
        }
        return "the registry " + image.host() + " cannot be reached for " + image.text() + ": " + words(shown)
                + "; check the name and port of the registry, and the network of this node";
    }

    private static String words(Throwable cause) {
        String message = cause.getMessage();
        if (message == null || message.isBlank()) {
            return cause instanceof ConnectException
                    ? "connection refused"
                    : cause.getClass().getSimpleName();
        }
        return message.strip().replaceAll("\\s+", " ");
    }
}
