package io.jrun.launcher.cli;

import io.jrun.agent.container.ContainerMount;
import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.EngineChoice;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.JavaChoice;
import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.launcher.cli.LaunchOptionTest.Case;
import io.jrun.launcher.job.JobSpec;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/** The cases of {@link LaunchOptionTest} of options for containers. */
final class ContainerCases {
    private ContainerCases() {}

    static Stream<Case> all() {
        return Stream.of(
                new Case(
                        LaunchOption.CONTAINER_IMAGE,
                        Optional.empty(),
                        "nvcr.io#nvidia/pytorch:24.01-py3",
                        Optional.of("nvcr.io#nvidia/pytorch:24.01-py3"),
                        job -> job.workers()
                                .container()
                                .flatMap(ContainerSpec::image)
                                .map(ImageReference::text)),
                of(
                        LaunchOption.CONTAINER_MOUNTS,
                        List.of(),
                        "/a:/b:ro,tmpfs:/c",
                        List.of("/a:/b:ro", "tmpfs:/c"),
                        spec -> spec.mounts().stream().map(ContainerMount::text).toList()),
                of(LaunchOption.CONTAINER_WORKDIR, "", "/w", "/w", ContainerSpec::workdir),
                of(
                        LaunchOption.CONTAINER_NAME,
                        "",
                        "a:create",
                        "a:create",
                        spec -> spec.name().map(ContainerName::text).orElse("")),
                of(LaunchOption.CONTAINER_SAVE, "", "/s.sqsh", "/s.sqsh", ContainerSpec::save),
                of(LaunchOption.CONTAINER_ENTRYPOINT_LOG, false, "true", true, ContainerSpec::entrypointLog),
                of(
                        LaunchOption.CONTAINER_RUNTIME,
                        EngineChoice.AUTO,
                        "podman",
                        EngineChoice.PODMAN,
                        ContainerSpec::engine),
                of(LaunchOption.CONTAINER_MOUNT_HOME, false, "true", true, ContainerSpec::mountHome),
                of(LaunchOption.NO_CONTAINER_MOUNT_HOME, false, "true", false, ContainerSpec::mountHome),
                of(LaunchOption.CONTAINER_REMAP_ROOT, false, "true", true, ContainerSpec::remapRoot),
                of(LaunchOption.NO_CONTAINER_REMAP_ROOT, false, "true", false, ContainerSpec::remapRoot),
                of(LaunchOption.CONTAINER_WRITABLE, true, "true", true, ContainerSpec::writable),
                of(LaunchOption.CONTAINER_READONLY, true, "true", false, ContainerSpec::writable),
                of(LaunchOption.CONTAINER_ENTRYPOINT, false, "true", true, ContainerSpec::entrypoint),
                of(LaunchOption.NO_CONTAINER_ENTRYPOINT, false, "true", false, ContainerSpec::entrypoint),
                of(LaunchOption.CONTAINER_ENV, List.of(), "A,B", List.of("A", "B"), ContainerSpec::environment),
                of(
                        LaunchOption.CONTAINER_UNSHARE,
                        List.of(),
                        "ipc",
                        List.of(UnsharedNamespace.IPC),
                        ContainerSpec::unshare),
                of(LaunchOption.CONTAINER_JAVA, JavaChoice.AUTO, "host", JavaChoice.HOST, ContainerSpec::java));
    }

    private static Case of(
            LaunchOption option, Object byDefault, String text, Object meaning, Function<ContainerSpec, Object> read) {
        return new Case(
                option,
                byDefault,
                text,
                meaning,
                (JobSpec job) -> job.workers().container().map(read).orElse(byDefault));
    }
}
