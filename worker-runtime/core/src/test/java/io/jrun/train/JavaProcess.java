package io.jrun.train;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A JVM of its own with this test's class path. */
public final class JavaProcess {
    private static final long END_SECONDS = Boolean.getBoolean("jrun.soak") ? 1200 : 300;

    private final Process process;
    private final Path output;

    private JavaProcess(Process process, Path output) {
        this.process = process;
        this.output = output;
    }

    /** Starts it; what it prints goes to a file in the folder. */
    public static JavaProcess start(
            Path folder, Class<?> main, List<String> options, Map<String, String> environment, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("--enable-native-access=ALL-UNNAMED");
        command.add("--sun-misc-unsafe-memory-access=allow");
        command.add("--add-modules=jdk.incubator.vector");
        command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")); // it lives for seconds
        command.add("-cp");
        command.add(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
        command.addAll(options); // a second -cp wins
        command.add(main.getName());
        command.addAll(List.of(arguments));
        Path output = Files.createTempFile(folder, "output", ".txt");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().putAll(environment);
        return new JavaProcess(builder.start(), output);
    }

    /** Waits until the process has printed {@code text}. */
    public void awaitOutput(String text) throws IOException, InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_SECONDS);
        while (!Files.readString(output).contains(text)) {
            if (!process.isAlive() || System.nanoTime() > end) {
                process.destroyForcibly().waitFor();
                throw new AssertionError("'" + text + "' was not printed, but:\n" + Files.readString(output));
            }
            TimeUnit.MILLISECONDS.sleep(10);
        }
    }

    /** Kills it with SIGKILL. */
    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Returns the output of a process that has ended with 0. A loaded machine needs a minute to start libtorch. */
    public String join() throws IOException, InterruptedException {
        boolean ended;
        try {
            ended = process.waitFor(END_SECONDS, TimeUnit.SECONDS);
        } finally {
            process.destroyForcibly(); // also if the time of the test is over
        }
        process.waitFor();
        String printed = Files.readString(output);
        if (!ended || process.exitValue() != 0) {
            throw new AssertionError(
                    (ended ? "exit code " + process.exitValue() : "no end within " + END_SECONDS + " s")
                            + "; it printed:\n" + printed);
        }
        return printed;
    }
}
