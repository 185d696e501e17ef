package io.jrun.agent.container;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Containers for tests, and programs in them. */
public final class TestContainers {
    private static final long SECONDS = 20;

    private TestContainers() {}

    /**
     * A container without options.
     *
     * @param name empty for none
     * @param mounts the text of {@code --container-mounts}; empty for none
     */
    public static ContainerSpec spec(String image, String name, String mounts, List<UnsharedNamespace> unshare) {
        return spec(image, name, mounts, unshare, "", false, false);
    }

    /**
     * A container with some options.
     *
     * @param save the file of the saved root; empty for none
     */
    public static ContainerSpec spec(
            String image,
            String name,
            String mounts,
            List<UnsharedNamespace> unshare,
            String save,
            boolean mountHome,
            boolean remapRoot) {
        return new ContainerSpec(
                Optional.of(ImageReference.parse(image)),
                mounts.isEmpty() ? List.of() : ContainerMount.parseAll(mounts),
                "",
                name.isEmpty() ? Optional.empty() : Optional.of(ContainerName.parse(name)),
                save,
                mountHome,
                remapRoot,
                true,
                false,
                false,
                List.of(),
                unshare,
                JavaChoice.AUTO,
                EngineChoice.AUTO);
    }

    /** A worker with the id {@code a}. */
    public static WorkerRequest worker(String... command) {
        return new WorkerRequest("a", "/", Map.of("PATH", "/bin"), Map.of(), List.of(command));
    }

    /** Runs a script in a container to its end, and returns its output. */
    public static String output(NodeContainers containers, String script) throws Exception {
        Process process = new ProcessBuilder(containers.command(worker("sh", "-c", script)))
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(SECONDS, TimeUnit.SECONDS)).isTrue();
        containers.remove("a");
        return said;
    }
}
