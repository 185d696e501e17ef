package io.jrun.comm.group;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.backend.BackendProvider;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The backends on the class path of this process, without jrun's own. Stateless. */
final class Backends {
    private Backends() {}

    /** Returns all backends, ordered by name. */
    static List<BackendProvider> all() {
        return ServiceLoader.load(BackendProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .sorted(Comparator.comparing(BackendProvider::name))
                .toList();
    }

    /** Whether the backend of this name is a library for memory of devices. */
    static boolean usesDevices(String name) {
        return all().stream().anyMatch(provider -> provider.name().equals(name) && provider.usesDevices());
    }

    /** Returns the name of the backend for memory of devices; empty if there is none. */
    static String deviceBackend() {
        return all().stream()
                .filter(BackendProvider::usesDevices)
                .map(BackendProvider::name)
                .findFirst()
                .orElse("");
    }

    /** Returns why this process cannot use the backend of this name; empty if it can. */
    static Optional<String> unavailableReason(String name) {
        return all().stream()
                .filter(provider -> provider.name().equals(name))
                .findFirst()
                .flatMap(BackendProvider::unavailableReason);
    }

    /**
     * Returns the backend with this name.
     *
     * @throws CommException USAGE if there is no such backend, or if this process cannot use the backend
     */
    static BackendProvider require(String name) {
        List<BackendProvider> all = all();
        BackendProvider provider = all.stream()
                .filter(candidate -> candidate.name().equals(name))
                .findFirst()
                .orElseThrow(() ->
                        new CommException(ErrorCode.USAGE, "unknown backend '" + name + "' (" + expected(all) + ")"));
        Optional<String> reason = provider.unavailableReason();
        if (reason.isPresent()) {
            throw new CommException(ErrorCode.USAGE, "backend " + name + " cannot be used here: " + reason.get());
        }
        return provider;
    }

    private static String expected(List<BackendProvider> all) {
        return Stream.concat(Stream.of(GroupOptions.OWN_BACKEND), all.stream().map(BackendProvider::name))
                .collect(Collectors.joining(", ", "expected one of ", ""));
    }
}
