package io.jrun.launcher.cli;

import io.jrun.agent.container.ContainerFormatException;
import io.jrun.agent.container.ContainerMount;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.JavaChoice;
import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.NodePolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Makes the container of a job's workers of the options {@code --container-*}. Confined to one thread. */
final class ContainerOptions {
    private final ResolvedOptions settings;
    private final CommandContext commandContext;

    ContainerOptions(ResolvedOptions settings, CommandContext commandContext) {
        this.settings = settings;
        this.commandContext = commandContext;
    }

    /**
     * Empty if no image is asked for.
     *
     * @param cluster the hosts, empty for this machine alone
     */
    Optional<ContainerSpec> read(Optional<Cluster> cluster, NodePolicy nodes) {
        if (!settings.has(LaunchOption.CONTAINER_IMAGE)) {
            refuseAllOthers();
            return Optional.empty();
        }
        List<UnsharedNamespace> unshare =
                one(LaunchOption.CONTAINER_UNSHARE, UnsharedNamespace::parseAll).orElse(List.of());
        boolean severalNodes = nodes.isElastic()
                || cluster.filter(named -> named.hosts().size() != 1).isPresent();
        if (unshare.contains(UnsharedNamespace.NET) && severalNodes) {
            throw new UsageException(settings.name(LaunchOption.CONTAINER_UNSHARE)
                    + ": workers without the node's network cannot reach other nodes. Leave net out, or use one node.");
        }
        return Optional.of(new ContainerSpec(
                one(LaunchOption.CONTAINER_IMAGE, this::image),
                mounts(),
                one(LaunchOption.CONTAINER_WORKDIR, ContainerSpec::checkWorkdir).orElse(""),
                Optional.empty(),
                "",
                isOn(LaunchOption.CONTAINER_MOUNT_HOME, LaunchOption.NO_CONTAINER_MOUNT_HOME),
                isOn(LaunchOption.CONTAINER_REMAP_ROOT, LaunchOption.NO_CONTAINER_REMAP_ROOT),
                !isOn(LaunchOption.CONTAINER_READONLY, LaunchOption.CONTAINER_WRITABLE),
                isOn(LaunchOption.CONTAINER_ENTRYPOINT, LaunchOption.NO_CONTAINER_ENTRYPOINT),
                false,
                settings.all(LaunchOption.CONTAINER_ENV).stream()
                        .flatMap(text -> in(LaunchOption.CONTAINER_ENV, text, ContainerSpec::parseEnvironment).stream())
                        .toList(),
                unshare,
                one(LaunchOption.CONTAINER_JAVA, JavaChoice::parse).orElse(JavaChoice.AUTO)));
    }

    /** @throws UsageException if the text does not have the form of the option's value */
    static void checkForm(LaunchOption option, String text, String name) {
        var _ = in(
                name,
                text,
                switch (option) {
                    case CONTAINER_IMAGE -> ImageReference::parse;
                    case CONTAINER_MOUNTS -> ContainerMount::parseAll;
                    case CONTAINER_WORKDIR -> ContainerSpec::checkWorkdir;
                    case CONTAINER_ENV -> ContainerSpec::parseEnvironment;
                    case CONTAINER_UNSHARE -> UnsharedNamespace::parseAll;
                    default -> throw new IllegalArgumentException(option + " is no option of containers");
                });
    }

    private void refuseAllOthers() {
        for (LaunchOption option : LaunchOption.values()) {
            if (option.group() == OptionGroup.CONTAINER && isTyped(option)) {
                throw new UsageException(
                        option.longName() + " is for jobs in containers. Give --container-image too, or leave it out.");
            }
        }
    }

    private ImageReference image(String text) {
        ImageReference image = ImageReference.parse(text);
        return image instanceof ImageReference.Local local
                ? new ImageReference.Local(commandContext.resolve(local.path()).toString())
                : image;
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

    /** Of an option and its opposite the one of the command line counts; of two there, the opposite. */
    private boolean isOn(LaunchOption option, LaunchOption opposite) {
        if (!settings.isOn(opposite)) {
            return settings.isOn(option);
        }
        return settings.isOn(option) && isTyped(option) && !isTyped(opposite);
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
