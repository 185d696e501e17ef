package io.jrun.launcher.cli;

import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.TerminalStreams;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.zip.ZipEntry;

/** Command lines read in a folder with a {@code train.jar} and a chosen environment. */
public final class Requests {
    private final Path folder;
    private final Map<String, String> environment = new HashMap<>();

    /** Makes train.jar in {@code folder}. */
    public Requests(Path folder) throws IOException {
        this.folder = folder;
        environment.put("HOME", folder.toString());
        environment.put("PATH", "/usr/bin:/bin");
        jar("train.jar", Map.of("Main-Class", "app.Train"));
    }

    Requests with(String variable, String value) {
        environment.put(variable, value);
        return this;
    }

    void jar(String name, Map<String, String> manifest) throws IOException {
        Manifest made = new Manifest();
        made.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.forEach((key, value) -> made.getMainAttributes().putValue(key, value));
        try (OutputStream out = Files.newOutputStream(folder.resolve(name));
                JarOutputStream jar = new JarOutputStream(out, made)) {
            for (String type :
                    Set.of(manifest.getOrDefault("Main-Class", "app.Train").strip(), "app.Other")) {
                jar.putNextEntry(new ZipEntry(type.replace('.', '/') + ".class"));
            }
            jar.finish();
        }
    }

    JobRequest request(String... args) {
        return JobRequest.of(ParsedCommand.of(List.of(args)), context());
    }

    CommandContext context() {
        return new CommandContext(
                environment, folder, folder.resolve("home"), folder.resolve("bin/jrun"), TerminalStreams.NONE);
    }

    /** The job of these options and {@code train.jar}. */
    JobSpec job(String... options) {
        List<String> args = new ArrayList<>(List.of(options));
        args.add("train.jar");
        return run(args.toArray(String[]::new));
    }

    /** The job of these words. */
    public JobSpec run(String... args) {
        return ((JobRequest.Run) request(args)).job();
    }
}
