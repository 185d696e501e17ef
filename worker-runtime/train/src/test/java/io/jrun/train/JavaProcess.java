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

    /** Waits until it has printed {@code text}. */
    public void awaitOutput(String text, long seconds) throws IOException, InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
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

    /** What it printed, once it has ended with 0. */
    public String join(long seconds) throws IOException, InterruptedException {
        boolean ended = process.waitFor(seconds, TimeUnit.SECONDS);
        if (!ended) {
            process.destroyForcibly().waitFor();
        }
        String printed = Files.readString(output);
        if (!ended || process.exitValue() != 0) {
            throw new AssertionError((ended ? "exit code " + process.exitValue() : "no end within " + seconds + " s")
                    + "; it printed:\n" + printed);
        }
        return printed;
    }
}
