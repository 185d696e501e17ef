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
 * Prints "NAME MILLISECONDS" for each start of a JVM that prints one line: without a container, in each image with the builtin engine,
 * and with a command. The time begins before the image is mounted and ends when the program has ended.
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
                measure(both[0], shown, () -> contained(folder, Path.of(both[1]), args[2], args[4]));
            }
            if (dashes < args.length) {
                measure("command", shown, () -> plain(folder, all.subList(dashes + 1, args.length)));
            }
        }
    }

    private static void measure(String name, boolean shown, Start start) throws Exception {
        long begin = System.nanoTime();
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

    private static int contained(Path folder, Path image, String jar, String java) throws Exception {
        Path job = Files.createTempDirectory(folder, "job");
        ContainerSpec spec = ContainerSpec.of(new ImageReference.Local(image.toString()));
        try (NodeContainers containers = ContainerEngines.of(EngineChoice.BUILTIN)
                .start(spec, new NodeRequest(job.resolve("containers"), job.resolve("named"), System.getenv()))) {
            int code = plain(
                    folder,
                    containers.command(new WorkerRequest(
                            "worker",
                            "/",
                            Map.of("PATH", "/bin"),
                            Map.of(),
                            List.of(java, "-cp", "/hello.jar", "Hello"))));
            return code;
        } finally {
            Files.delete(job);
        }
    }
}
