package io.jrun.agent.container;

import java.util.Locale;
import java.util.Optional;

/** The engine of {@code --container-runtime}. */
public enum EngineChoice {
    /** The builtin engine. */
    AUTO,
    /** Namespaces and an overlay, made with util-linux. */
    BUILTIN,
    /** The command enroot of NVIDIA. */
    ENROOT,
    /** The command podman. */
    PODMAN,
    /** The command apptainer. */
    APPTAINER;

    /** The word of the option. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Reads the option.
     *
     * @throws ContainerFormatException if the text names no engine
     */
    public static EngineChoice parse(String text) {
        for (EngineChoice choice : values()) {
            if (choice.word().equals(text)) {
                return choice;
            }
        }
        throw new ContainerFormatException("'" + text + "' is not a container engine; the engines are auto,"
                + " builtin, enroot, podman and apptainer");
    }

    /** Returns a sentence about the first option that this engine does not support; empty if there is none. */
    public Optional<String> unsupported(ContainerSpec spec) {
        if (this == AUTO || this == BUILTIN) {
            return Optional.empty();
        }
        if (spec.mounts().stream().anyMatch(mount -> mount.kind() == ContainerMount.Kind.UMOUNT)) {
            return Optional.of(refusal("umount in --container-mounts"));
        }
        if (this != PODMAN && spec.unshare().contains(UnsharedNamespace.PID)) {
            return Optional.of(refusal("--container-unshare=pid"));
        }
        return Optional.empty();
    }

    private String refusal(String option) {
        return "the engine " + word() + " does not support " + option
                + "; use --container-runtime=builtin, or leave the option out";
    }
}
