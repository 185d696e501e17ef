package io.jrun.agent.container.external;

import io.jrun.agent.container.ContainerEngine;
import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.EngineChoice;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.builtin.BuiltinEngine;
import io.jrun.agent.container.builtin.RootEntry;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** All container engines. Stateless. */
public final class ContainerEngines {
    private ContainerEngines() {}

    /** Returns the engine of a choice. */
    public static ContainerEngine of(EngineChoice choice) {
        return entry(choice).<ContainerEngine>map(BuiltinEngine::new).orElseGet(BuiltinEngine::new);
    }

    /**
     * Returns the reason why this machine cannot run an engine; empty if the machine can run the engine. Starts a
     * process for the builtin engine.
     *
     * @param environment the variables of the agent
     */
    public static Optional<String> problem(EngineChoice choice, Map<String, String> environment)
            throws InterruptedException {
        try {
            BuiltinEngine.check(environment);
            Optional<RootEntry> entry = entry(choice);
            if (entry.isPresent()) {
                entry.get().check(new NodeRequest(Path.of("/"), Path.of("/"), List.of(), environment));
            }
            return Optional.empty();
        } catch (ContainerException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    private static Optional<RootEntry> entry(EngineChoice choice) {
        return switch (choice) {
            case AUTO, BUILTIN -> Optional.empty();
            case PODMAN -> Optional.of(new PodmanEntry());
            case ENROOT -> Optional.of(new EnrootEntry());
            case APPTAINER -> Optional.of(new ApptainerEntry());
        };
    }
}
