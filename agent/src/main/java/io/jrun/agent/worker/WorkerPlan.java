package io.jrun.agent.worker;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * All data for the start of one worker.
 *
 * @param rank the rank, for names and messages
 * @param command program and arguments
 * @param environment all variables of the worker
 * @param workingDir the working directory
 * @param neededFiles the files that this node needs besides the program itself
 * @param logDir the log folder of the rank, made if missing
 * @param mark the mark of the round, a limit that all processes of the worker inherit, see {@code ProcessMark}
 * @param dropIncubatorLine whether jrun causes the JVM's notice about the Vector API
 * @param token the token by which the worker identifies itself, if the agent does not know the pid that the worker
 *     sees; else empty
 * @param acceptsOwners whether changes of owners and user ids succeed without an effect, see {@link OwnerFilter}
 */
public record WorkerPlan(
        int rank,
        List<String> command,
        Map<String, String> environment,
        Path workingDir,
        List<Path> neededFiles,
        Path logDir,
        long mark,
        boolean dropIncubatorLine,
        OptionalLong token,
        boolean acceptsOwners) {
    /** Copies lists and map. */
    public WorkerPlan {
        command = List.copyOf(command);
        neededFiles = List.copyOf(neededFiles);
        environment = Map.copyOf(environment);
    }
}
