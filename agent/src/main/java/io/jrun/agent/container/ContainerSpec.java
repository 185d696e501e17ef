package io.jrun.agent.container;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The containers that a job asks for: the values of Pyxis' thirteen options and of jrun's own.
 *
 * @param image empty for a container that is on the node already, under its name
 * @param mounts in the order given
 * @param workdir absolute path inside; empty for the default
 * @param name empty for a root that each worker has for itself and that ends with it
 * @param save where the root of local rank 0 is written as a .sqsh file at the end; empty for nowhere
 * @param mountHome whether the user's home folder is mounted
 * @param remapRoot whether the user is root inside
 * @param writable whether programs may write to the root; what they write is never written to the image
 * @param entrypoint whether the image's entrypoint runs the program
 * @param entrypointLog whether the output of the entrypoint is shown
 * @param environment names of variables whose values come from the node, and not from the image
 * @param unshare namespaces that the workers do not share with the node
 * @param java whose JDK runs Java programs
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
            throw new ContainerFormatException("a container needs an image, or the name of one that is on the node");
        }
        mounts = List.copyOf(mounts);
        environment = List.copyOf(environment);
        unshare = List.copyOf(unshare);
    }

    /** A container of an image, and nothing else asked for. */
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

    /** The same of another image. */
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

    /** The same with these mounts. */
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
     * @throws ContainerFormatException if one is no name of a variable
     */
    public static List<String> parseEnvironment(String text) {
        List<String> names = new ArrayList<>();
        for (String name : text.split(",", -1)) {
            if (!VARIABLE.matcher(name).matches()) {
                throw new ContainerFormatException("'" + name + "' is no name of an environment variable");
            }
            names.add(name);
        }
        return List.copyOf(names);
    }

    /**
     * Checks {@code --container-workdir=PATH}.
     *
     * @throws ContainerFormatException if it is not absolute
     */
    public static String checkWorkdir(String text) {
        if (!text.startsWith("/") || text.indexOf('\n') >= 0 || text.indexOf('\0') >= 0) {
            throw new ContainerFormatException("'" + text + "': the working folder inside the container begins with /");
        }
        return text;
    }
}
