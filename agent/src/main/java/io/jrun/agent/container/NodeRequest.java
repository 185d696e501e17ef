package io.jrun.agent.container;

import java.nio.file.Path;
import java.util.Map;

/**
 * The folders and variables of a node for the containers of a {@link ContainerSpec}.
 *
 * @param scratch a folder that does not exist yet, in a folder of this job alone; the engine may make it and must remove it
 * @param named the folder of this user for containers with a name; it stays when the job ends
 * @param environment the agent's
 */
public record NodeRequest(Path scratch, Path named, Map<String, String> environment) {
    /** Copies the map. */
    public NodeRequest {
        environment = Map.copyOf(environment);
    }
}
