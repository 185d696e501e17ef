package io.jrun.agent.container;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The containers that a job requests: the values of Pyxis' thirteen options and of jrun's own options.
 *
 * @param image the image; empty for a named container that already exists on the node
 * @param mounts the mounts in the given order
 * @param workdir the working folder as an absolute path inside the container; empty for the default
 * @param name the name; without a name each worker has its own root, which ends with the worker
 * @param save the .sqsh file to which the root of local rank 0 is written at the end; empty for no file
 * @param mountHome whether the user's home folder is mounted
 * @param remapRoot whether the user is root inside the container
 * @param writable whether programs may write to the root; the image never changes
 * @param entrypoint whether the image's entrypoint runs the program
 * @param entrypointLog whether the output of the entrypoint is shown
 * @param environment names of variables whose values come from the node, and not from the image
 * @param unshare namespaces that the workers do not share with the node
 * @param java the JDK that runs Java programs
 * @param engine the engine that runs the workers
 */
public record ContainerSpec(
        Optional<ImageReference> image,
        List<ContainerMount> mounts,
        String workdir,
        Optional<ContainerName> name,
        String save,
        boolean mountHome,
        boolean remapRoot,
        boolean writable,
        boolean entrypoint,
        boolean entrypointLog,
        List<String> environment,
        List<UnsharedNamespace> unshare,
        JavaChoice java,
        EngineChoice engine) {
    private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    /** Copies the lists. */
    public ContainerSpec {
        if (image.isEmpty() && name.isEmpty()) {
            throw new ContainerFormatException("a container needs an image, or the name of a container on the node");
        }
        mounts = List.copyOf(mounts);
        environment = List.copyOf(environment);
        unshare = List.copyOf(unshare);
    }

    /** A container of an image with the defaults of all options. */
    public static ContainerSpec of(ImageReference image) {
        return new ContainerSpec(
                Optional.of(image),
                List.of(),
                "",
                Optional.empty(),
                "",
                false,
                false,
                true,
                false,
                false,
                List.of(),
                List.of(),
                JavaChoice.AUTO,
                EngineChoice.AUTO);
    }

    /** A copy with another image. */
    public ContainerSpec withImage(ImageReference newImage) {
        return new ContainerSpec(
                Optional.of(newImage),
                mounts,
                workdir,
                name,
                save,
                mountHome,
                remapRoot,
                writable,
                entrypoint,
                entrypointLog,
                environment,
                unshare,
                java,
                engine);
    }

    /** A copy with these mounts. */
    public ContainerSpec withMounts(List<ContainerMount> newMounts) {
        return new ContainerSpec(
                image,
                newMounts,
                workdir,
                name,
                save,
                mountHome,
                remapRoot,
                writable,
                entrypoint,
                entrypointLog,
                environment,
                unshare,
                java,
                engine);
    }

    /**
     * Reads {@code --container-env=NAME,...}.
     *
     * @throws ContainerFormatException if a name is not the name of a variable
     */
    public static List<String> parseEnvironment(String text) {
        List<String> names = new ArrayList<>();
        for (String name : text.split(",", -1)) {
            if (!VARIABLE.matcher(name).matches()) {
                throw new ContainerFormatException("'" + name + "' is not the name of an environment variable");
            }
            names.add(name);
        }
        return List.copyOf(names);
    }

    /**
     * Reads {@code --container-workdir=PATH}. A relative path begins at the root of the container, as in Pyxis.
     *
     * @return an absolute path
     * @throws ContainerFormatException if the text is not a path
     */
    public static String parseWorkdir(String text) {
        if (text.isEmpty() || text.indexOf('\n') >= 0 || text.indexOf('\0') >= 0) {
            throw new ContainerFormatException(
                    "'" + text + "': the path of the working folder inside the container must be one line of text");
        }
        return text.startsWith("/")
                ? text
                : Path.of("/").resolve(text).normalize().toString();
    }
}
