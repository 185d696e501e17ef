package io.jrun.launcher.doctor;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.EngineChoice;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.external.ContainerEngines;
import io.jrun.agent.image.FolderDeletion;
import io.jrun.agent.image.ImagePreparer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Finds the container engines that this machine can run. Checks whether this machine can make the containers of a job.
 */
final class ContainersCheck implements Check {
    private static final List<EngineChoice> ENGINES =
            List.of(EngineChoice.BUILTIN, EngineChoice.PODMAN, EngineChoice.ENROOT, EngineChoice.APPTAINER);

    private final Optional<ContainerSpec> wanted;
    private final Map<String, String> environment;

    /** @param wanted the containers of the options; empty for no container */
    ContainersCheck(Optional<ContainerSpec> wanted, Map<String, String> environment) {
        this.wanted = wanted;
        this.environment = Map.copyOf(environment);
    }

    @Override
    public List<CheckResult> run() throws IOException, InterruptedException {
        List<CheckResult> results = new ArrayList<>();
        for (EngineChoice engine : ENGINES) {
            String what = "containers " + engine.word();
            Optional<String> problem = ContainerEngines.problem(engine, environment);
            results.add(
                    problem.isPresent()
                            ? CheckResult.absent(what, problem.get())
                            : CheckResult.ok(what, "this machine has the programs and namespaces of the engine"));
        }
        if (wanted.isPresent()) {
            results.add(make(wanted.get()));
        }
        return results;
    }

    private CheckResult make(ContainerSpec spec) throws IOException, InterruptedException {
        String what = "container";
        Path folder = Files.createTempDirectory("jrun-doctor-");
        NodeRequest node =
                new NodeRequest(folder.resolve("containers"), folder.resolve("named"), List.of(), environment);
        try (NodeContainers made = ContainerEngines.of(spec.engine()).start(prepared(spec), node)) {
            return CheckResult.ok(
                    what,
                    "workers can run in the image, which sets "
                            + made.image().environment().size() + " variables");
        } catch (ContainerException e) {
            return CheckResult.problem(what, String.valueOf(e.getMessage()));
        } finally {
            FolderDeletion.delete(folder);
        }
    }

    /** Pulls an image that is not on this node yet, as a job does. */
    private ContainerSpec prepared(ContainerSpec spec) throws ContainerException, InterruptedException {
        if (spec.image().isEmpty()) {
            return spec;
        }
        Path image = new ImagePreparer(ImagePreparer.installedClassPath(), environment, _ -> {})
                .prepare(spec.image().get());
        return spec.withImage(new ImageReference.Local(image.toString()));
    }
}
