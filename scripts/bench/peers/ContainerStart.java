import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.EngineChoice;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.WorkerRequest;
import io.jrun.agent.container.external.ContainerEngines;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Prints "NAME MILLISECONDS" for each start of a JVM that prints one line: without a container, in each image with the
 * builtin engine, and with a command. The time of NAME begins before the image is mounted and ends when the program has
 * ended. The time of NAME-next is the time of a second worker of the same job: the image is mounted already.
 * Arguments: TURNS FOLDER HELLO_JAR NODE_JAVA IMAGE_JAVA NAME=IMAGE... [-- COMMAND...]
 */
public class ContainerStart {
    private interface Start {
        int run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        int turns = Integer.parseInt(args[0]);
        Path folder = Path.of(args[1]);
        List<String> all = List.of(args);
        int dashes = all.contains("--") ? all.indexOf("--") : args.length;
        for (int turn = -2; turn < turns; turn++) { // two turns without a line, for the JIT compiler and the page cache
            boolean shown = turn >= 0;
            measure("bare", shown, () -> plain(folder, List.of(args[3], "-cp", args[2], "Hello")));
            for (String named : all.subList(5, dashes)) {
                String[] both = named.split("=", 2);
                contained(both[0], shown, folder, Path.of(both[1]), args[4]);
            }
            if (dashes < args.length) {
                measure("command", shown, () -> plain(folder, all.subList(dashes + 1, args.length)));
            }
        }
    }

    private static void measure(String name, boolean shown, Start start) throws Exception {
        measure(name, shown, System.nanoTime(), start);
    }

    private static void measure(String name, boolean shown, long begin, Start start) throws Exception {
        int code = start.run();
        double millis = (System.nanoTime() - begin) / 1e6;
        if (code != 0) {
            throw new IOException(name + " ended with exit code " + code);
        }
        if (shown) {
            System.out.printf("%s %.2f%n", name, millis);
        }
    }

    private static int plain(Path folder, List<String> command) throws Exception {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("output").toFile())
                .start()
                .waitFor();
    }

    private static void contained(String name, boolean shown, Path folder, Path image, String java) throws Exception {
        long begin = System.nanoTime();
        Path job = Files.createTempDirectory(folder, "job");
        ContainerSpec spec = ContainerSpec.of(new ImageReference.Local(image.toString()));
        try (NodeContainers containers = ContainerEngines.of(EngineChoice.BUILTIN)
                .start(
                        spec,
                        new NodeRequest(
                                job.resolve("containers"), job.resolve("named"), List.of(), System.getenv()))) {
            measure(name, shown, begin, () -> plain(folder, command(containers, "first", java)));
            measure(name + "-next", shown, () -> plain(folder, command(containers, "next", java)));
        } finally {
            Files.delete(job);
        }
    }

    private static List<String> command(NodeContainers containers, String id, String java) throws Exception {
        List<String> hello = List.of(java, "-cp", "/hello.jar", "Hello");
        return containers.command(new WorkerRequest(id, "/", Map.of("PATH", "/bin"), Map.of(), hello));
    }
}
