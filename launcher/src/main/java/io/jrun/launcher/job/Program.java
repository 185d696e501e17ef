package io.jrun.launcher.job;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The program of all workers. */
public sealed interface Program {
    /** The arguments of the program, before {@code ${rank}} and {@code ${local_rank}} are replaced. */
    List<String> args();

    /** The file that the user named. */
    String path();

    /** A short command line for users, without the flags that jrun adds. */
    List<String> shortCommand();

    /**
     * A Java program.
     *
     * @param path a jar, a folder of classes, or a source file
     * @param javaHome the JDK of the workers, empty for the JDK of the agent
     * @param classPath the user's jars and folders as absolute paths, the program itself first; of a source
     *     file the jar of its classes
     * @param manifestOptions JVM options from the manifest of the jar
     * @param jvmOptions the user's JVM options, which override all others
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

        @Override
        public List<String> shortCommand() {
            List<String> command = new ArrayList<>(List.of("java"));
            command.addAll(jvmOptions);
            if (path.endsWith(".java")) {
                command.add(path);
            } else {
                command.addAll(List.of("-cp", path, mainClass));
            }
            command.addAll(args);
            return command;
        }
    }

    /** Any other executable. */
    record Executable(String path, List<String> args) implements Program {
        public Executable {
            args = List.copyOf(args);
        }

        @Override
        public List<String> shortCommand() {
            return Stream.concat(Stream.of(path), args.stream()).toList();
        }
    }
}
