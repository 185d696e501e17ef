package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerMount;
import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.EngineChoice;
import io.jrun.agent.container.HostFolder;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.JavaChoice;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.agent.container.WorkerRequest;
import io.jrun.agent.container.external.ContainerEngines;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Runs commands in containers as an agent would: {@code FOLDER IMAGE [mounts=...] [needed=PATH] [readonly] [remap]
 * [unshare=...] [workers=N] [name=NAME] [save=PATH] [engine=NAME] [env=NAME=VALUE] -- COMMAND...}. Prints what the
 * command prints, and ends with its exit code. A container that cannot be made ends with 99 and a line on stderr.
 */
final class ContainerHostMain {
    private static final int NO_CONTAINER = 99;
    private static final String PATH = "/usr/local/bin:/usr/bin:/bin";

    private ContainerHostMain() {}

    public static void main(String[] args) throws Exception {
        System.exit(run(Arrays.asList(args), Redirect.INHERIT));
    }

    /** @param output where the commands write */
    static int run(List<String> args, Redirect output) throws Exception {
        int dashes = args.indexOf("--");
        List<String> options = args.subList(2, dashes);
        List<String> command = args.subList(dashes + 1, args.size());
        Path folder = Files.createTempDirectory(Path.of(args.get(0)), "job");
        try (NodeContainers containers = ContainerEngines.of(
                        value(options, "engine").map(EngineChoice::parse).orElse(EngineChoice.AUTO))
                .start(
                        spec(args.get(1), options),
                        new NodeRequest(
                                folder.resolve("containers"),
                                Path.of(args.get(0), "named"),
                                value(options, "job").stream().toList(),
                                System.getenv()))) {
            for (HostFolder each : needed(options)) {
                containers.add(each);
            }
            int workers = Integer.parseInt(value(options, "workers").orElse("1"));
            Map<String, String> more = options.stream()
                    .filter(option -> option.startsWith("env="))
                    .map(option -> option.split("=", 3))
                    .collect(Collectors.toMap(parts -> parts[1], parts -> parts[2]));
            return runAll(containers, workers, more, command, output, value(options, "save"));
        } catch (ContainerException e) {
            System.err.println(e.getMessage());
            return NO_CONTAINER;
        } finally {
            Files.delete(folder); // fails if anything is left in it
        }
    }

    private static int runAll(
            NodeContainers containers,
            int workers,
            Map<String, String> more,
            List<String> command,
            Redirect output,
            Optional<String> save)
            throws Exception {
        List<Process> running = new ArrayList<>();
        for (int worker = 0; worker < workers; worker++) {
            Map<String, String> environment = new HashMap<>(more);
            environment.putAll(Map.of("PATH", PATH, "WORKER", Integer.toString(worker)));
            List<String> words =
                    containers.command(new WorkerRequest("w" + worker, "/", environment, Map.of(), command));
            ProcessBuilder builder =
                    new ProcessBuilder(words).redirectErrorStream(true).redirectOutput(output);
            builder.environment().putAll(environment);
            running.add(builder.start());
        }
        int worst = 0;
        for (int worker = 0; worker < workers; worker++) {
            worst = Math.max(worst, running.get(worker).waitFor());
            if (worker == 0 && save.isPresent()) {
                containers.save("w0", Path.of(save.get()));
            }
            containers.remove("w" + worker);
        }
        return worst;
    }

    private static ContainerSpec spec(String image, List<String> options) {
        return new ContainerSpec(
                Optional.of(image).filter(text -> !text.equals("-")).map(ImageReference::parse),
                value(options, "mounts").map(ContainerMount::parseAll).orElse(List.of()),
                "",
                value(options, "name").map(ContainerName::parse),
                value(options, "save").orElse(""),
                options.contains("home"),
                options.contains("remap"),
                !options.contains("readonly"),
                false,
                false,
                List.of(),
                value(options, "unshare").map(UnsharedNamespace::parseAll).orElse(List.of()),
                JavaChoice.AUTO,
                value(options, "engine").map(EngineChoice::parse).orElse(EngineChoice.AUTO));
    }

    private static List<HostFolder> needed(List<String> options) {
        return value(options, "needed").stream()
                .map(path -> new HostFolder(Path.of(path), HostFolder.Access.READ))
                .toList();
    }

    private static Optional<String> value(List<String> options, String name) {
        return options.stream()
                .filter(option -> option.startsWith(name + "="))
                .map(option -> option.substring(name.length() + 1))
                .findFirst();
    }
}
