package io.jrun.agent.container;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * The folders and variables of a node for the containers of a {@link ContainerSpec}.
 *
 * @param scratch a folder that does not exist yet, in a folder of this job alone; the engine may make the folder and
 *     must remove the folder
 * @param named the folder of this user for containers with a name; the folder stays when the job ends
 * @param jobNames the names by which other jobs of the user can join the container of this job while this job runs
 * @param environment the variables of the agent
 */
public record NodeRequest(Path scratch, Path named, List<String> jobNames, Map<String, String> environment) {
    /** Copies the collections. */
    public NodeRequest {
        jobNames = List.copyOf(jobNames);
        environment = Map.copyOf(environment);
    }
}
