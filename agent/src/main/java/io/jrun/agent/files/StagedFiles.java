package io.jrun.agent.files;

import io.jrun.agent.proto.JavaProgramSpec;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.ProgramSpec;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * The paths of a job's files on this node.
 *
 * @param moved the path on this node by the launcher's path; all other files have the launcher's path
 * @param workingDir the folder that replaces the working directory, empty if the working directory itself is used
 */
public record StagedFiles(Map<String, Path> moved, Optional<Path> workingDir) {
    /** All files have the launcher's paths. */
    public static final StagedFiles IN_PLACE = new StagedFiles(Map.of(), Optional.empty());

    private static final String ALL_JARS = "/*";

    /** Copies the map. */
    public StagedFiles {
        moved = Map.copyOf(moved);
    }

    /** Returns the launch with the paths of this node. */
    public LaunchRound on(LaunchRound launch) {
        if (equals(IN_PLACE)) {
            return launch;
        }
        LaunchRound.Builder here = launch.toBuilder();
        workingDir.ifPresent(folder -> here.setWorkingDir(folder.toString()));
        return here.setProgram(on(launch.getProgram())).build();
    }

    private ProgramSpec on(ProgramSpec program) {
        ProgramSpec.Builder here = program.toBuilder();
        if (program.hasExecutable()) {
            here.getExecutableBuilder().setPath(on(program.getExecutable().getPath()));
        } else if (program.hasJava()) {
            JavaProgramSpec.Builder java = here.getJavaBuilder().clearClassPath();
            program.getJava().getClassPathList().forEach(entry -> java.addClassPath(on(entry)));
        }
        return here.build();
    }

    private String on(String path) {
        if (path.endsWith(ALL_JARS)) {
            return on(path.substring(0, path.length() - ALL_JARS.length())) + ALL_JARS;
        }
        Path found = moved.get(path);
        return found == null ? path : found.toString();
    }
}
