package io.jrun.launcher.job;

import java.util.List;
import java.util.stream.Stream;

/** What every worker runs. */
public sealed interface Program {
    /** The program's own arguments; {@code ${rank}} and {@code ${local_rank}} still unexpanded. */
    List<String> args();

    /** The file the user named. */
    String path();

    /**
     * A Java program.
     *
     * @param javaHome the workers' JDK, empty for the agent's own
     * @param classPath the user's jars and folders, absolute, the program itself first
     * @param manifestOptions JVM options made from the jar's manifest
     * @param jvmOptions the user's JVM options, stronger than all others
     */
    record JavaProgram(
            String path,
            String javaHome,
            List<String> classPath,
            String mainClass,
            List<String> manifestOptions,
            List<String> jvmOptions,
            List<String> args)
            implements Program {
        public JavaProgram {
            classPath = List.copyOf(classPath);
            manifestOptions = List.copyOf(manifestOptions);
            jvmOptions = List.copyOf(jvmOptions);
            args = List.copyOf(args);
        }
    }

    /** Any other executable. */
    record Executable(String path, List<String> args) implements Program {
        public Executable {
            args = List.copyOf(args);
        }
    }

    /** A short command for people: what was asked for, not every flag jrun adds. */
    default List<String> shortCommand() {
        Stream<String> head = switch (this) {
            case JavaProgram java ->
                Stream.concat(
                        Stream.concat(Stream.of("java"), java.jvmOptions().stream()),
                        Stream.of("-cp", java.path(), java.mainClass()));
            case Executable executable -> Stream.of(executable.path());
        };
        return Stream.concat(head, args().stream()).toList();
    }
}
