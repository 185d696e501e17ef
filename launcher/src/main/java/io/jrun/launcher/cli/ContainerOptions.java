package io.jrun.launcher.cli;

import io.jrun.agent.container.ContainerFormatException;
import io.jrun.agent.container.ContainerMount;
import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.EngineChoice;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.JavaChoice;
import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.launcher.job.UsageException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;

/** Makes the container of a job's workers of the options {@code --container-*}. Confined to one thread. */
final class ContainerOptions {
    private static final Pattern VARIABLE = Pattern.compile("(?:JRUN|PYXIS)_[A-Z_]+");

    private final ResolvedOptions settings;
    private final CommandContext commandContext;

    ContainerOptions(ResolvedOptions settings, CommandContext commandContext) {
        this.settings = settings;
        this.commandContext = commandContext;
    }

    /**
     * The container of the options; empty if the options name no container.
     *
     * @param severalNodes whether the job may have workers on several nodes
     */
    Optional<ContainerSpec> read(boolean severalNodes) {
        if (!areGiven(settings)) {
            refuseAllOthers();
            return Optional.empty();
        }
        if (isTyped(LaunchOption.CONTAINER_WRITABLE)
                && isTyped(LaunchOption.CONTAINER_READONLY)
                && settings.isOn(LaunchOption.CONTAINER_WRITABLE)
                && settings.isOn(LaunchOption.CONTAINER_READONLY)) {
            throw new UsageException(
                    "--container-writable and --container-readonly contradict each other. Leave one out.");
        }
        List<UnsharedNamespace> unshare =
                one(LaunchOption.CONTAINER_UNSHARE, UnsharedNamespace::parseAll).orElse(List.of());
        if (unshare.contains(UnsharedNamespace.NET) && severalNodes) {
            throw new UsageException(settings.name(LaunchOption.CONTAINER_UNSHARE)
                    + ": workers without the node's network cannot reach other nodes. Leave net out, or use one node.");
        }
        ContainerSpec spec = new ContainerSpec(
                one(LaunchOption.CONTAINER_IMAGE, this::image),
                mounts(),
                one(LaunchOption.CONTAINER_WORKDIR, ContainerSpec::parseWorkdir).orElse(""),
                one(LaunchOption.CONTAINER_NAME, ContainerName::parse),
                one(LaunchOption.CONTAINER_SAVE, this::saved).orElse(""),
                isOn(LaunchOption.CONTAINER_MOUNT_HOME, LaunchOption.NO_CONTAINER_MOUNT_HOME),
                isOn(LaunchOption.CONTAINER_REMAP_ROOT, LaunchOption.NO_CONTAINER_REMAP_ROOT),
                !isOn(LaunchOption.CONTAINER_READONLY, LaunchOption.CONTAINER_WRITABLE),
                isOn(LaunchOption.CONTAINER_ENTRYPOINT, LaunchOption.NO_CONTAINER_ENTRYPOINT),
                settings.isOn(LaunchOption.CONTAINER_ENTRYPOINT_LOG),
                settings.all(LaunchOption.CONTAINER_ENV).stream()
                        .flatMap(text -> in(LaunchOption.CONTAINER_ENV, text, ContainerSpec::parseEnvironment).stream())
                        .toList(),
                unshare,
                one(LaunchOption.CONTAINER_JAVA, JavaChoice::parse).orElse(JavaChoice.AUTO),
                one(LaunchOption.CONTAINER_RUNTIME, EngineChoice::parse).orElse(EngineChoice.AUTO));
        spec.engine().unsupported(spec).ifPresent(sentence -> {
            throw new UsageException(settings.name(LaunchOption.CONTAINER_RUNTIME) + ": " + sentence + ".");
        });
        return Optional.of(spec);
    }

    /** Whether workers run in containers. */
    static boolean areGiven(ResolvedOptions settings) {
        return settings.has(LaunchOption.CONTAINER_IMAGE) || settings.has(LaunchOption.CONTAINER_NAME);
    }

    /** @throws UsageException if the text does not have the form of the option's value */
    static void checkForm(LaunchOption option, String text, String name) {
        var _ = in(
                name,
                text,
                switch (option) {
                    case CONTAINER_IMAGE -> ImageReference::parse;
                    case CONTAINER_MOUNTS -> ContainerMount::parseAll;
                    case CONTAINER_WORKDIR -> ContainerSpec::parseWorkdir;
                    case CONTAINER_NAME -> ContainerName::parse;
                    case CONTAINER_ENV -> ContainerSpec::parseEnvironment;
                    case CONTAINER_UNSHARE -> UnsharedNamespace::parseAll;
                    default -> throw new IllegalArgumentException(option + " is no option of containers");
                });
    }

    private void refuseAllOthers() {
        for (LaunchOption option : LaunchOption.values()) {
            if (option.group() == OptionGroup.CONTAINER && isTyped(option)) {
                throw new UsageException(option.longName()
                        + " is for jobs in containers. Add --container-image or --container-name, or"
                        + " omit the option.");
            }
        }
    }

    private ImageReference image(String text) {
        ImageReference image = ImageReference.parse(text);
        if (image instanceof ImageReference.Local local) {
            return new ImageReference.Local(commandContext.resolve(local.path()).toString());
        }
        if (Files.exists(commandContext.resolve(text))) {
            throw new ContainerFormatException(
                    "'" + text + "' is an image of a registry and also a file or folder here;" + " write ./" + text
                            + " for the file or folder, or docker://" + text + " for the image");
        }
        return image;
    }

    private List<ContainerMount> mounts() {
        List<ContainerMount> mounts = new ArrayList<>();
        for (String text : settings.all(LaunchOption.CONTAINER_MOUNTS)) {
            in(LaunchOption.CONTAINER_MOUNTS, text, ContainerMount::parseAll).forEach(mount -> mounts.add(here(mount)));
        }
        return mounts;
    }

    private ContainerMount here(ContainerMount mount) {
        return mount.kind() == ContainerMount.Kind.BIND
                ? new ContainerMount(
                        mount.kind(), commandContext.resolve(mount.source()).toString(), mount.target(), mount.flags())
                : mount;
    }

    /**
     * Whether an option is on. An option and its opposite are two names of one value: an opposite that is 0 turns the
     * option on. The command line overrides a job file, and a job file overrides the environment. If one of the three
     * has both names, the opposite counts.
     */
    private boolean isOn(LaunchOption option, LaunchOption opposite) {
        boolean decides = settings.has(opposite) && (!settings.has(option) || layer(opposite) <= layer(option));
        return decides ? !settings.isOn(opposite) : settings.isOn(option);
    }

    /** 0 for the command line, 1 for a job file, 2 for the environment. */
    private int layer(LaunchOption option) {
        String source =
                settings.get(option).map(ResolvedOptions.Setting::source).orElse("");
        return source.isEmpty() ? 0 : VARIABLE.matcher(source).matches() ? 2 : 1;
    }

    /** Refuses a folder before the image is prepared. */
    private String saved(String text) {
        Path path = commandContext.resolve(text);
        if (text.endsWith("/") || Files.isDirectory(path)) {
            throw new ContainerFormatException(
                    "'" + text + "' is a folder; name a file, such as " + path.resolve("saved.sqsh"));
        }
        return path.toString();
    }

    private boolean isTyped(LaunchOption option) {
        return settings.get(option)
                .filter(setting -> setting.source().isEmpty())
                .isPresent();
    }

    private <T> Optional<T> one(LaunchOption option, Function<String, T> parser) {
        return settings.get(option).map(setting -> in(option, setting.last(), parser));
    }

    private <T> T in(LaunchOption option, String text, Function<String, T> parser) {
        return in(settings.name(option), text, parser);
    }

    private static <T> T in(String name, String text, Function<String, T> parser) {
        try {
            return parser.apply(text);
        } catch (ContainerFormatException e) {
            throw new UsageException(name + ": " + e.getMessage() + ".");
        }
    }
}
