package io.jrun.launcher.cli;

import io.jrun.agent.container.ContainerFormatException;
import io.jrun.agent.container.ImageReference;
import io.jrun.launcher.job.UsageException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Reads the command line of {@code jrun image}. Confined to one thread. */
final class ImageRequestReader {
    private static final String DAYS = "30";
    private static final int MOST_DAYS = 36_500;
    private static final Pattern SUITE = Pattern.compile("[a-z][a-z0-9.-]*");
    private static final Pattern PACKAGE = Pattern.compile("[a-z0-9][a-z0-9.+-]*");

    private final ParsedCommand line;
    private final CommandContext commandContext;

    private enum Action {
        LS,
        PULL,
        IMPORT,
        INSPECT,
        CREATE,
        RM,
        PRUNE
    }

    private static final Map<Action, Set<CommandOption>> OPTIONS = Map.of(
            Action.LS, Set.of(CommandOption.JSON),
            Action.PULL, Set.of(CommandOption.JSON),
            Action.INSPECT, Set.of(CommandOption.JSON),
            Action.IMPORT, Set.of(CommandOption.OUTPUT),
            Action.CREATE, Set.of(CommandOption.ROOTFS, CommandOption.DEBIAN, CommandOption.PACKAGES),
            Action.RM, Set.of(),
            Action.PRUNE, Set.of(CommandOption.OLDER_THAN));

    ImageRequestReader(ParsedCommand line, CommandContext commandContext) {
        this.line = line;
        this.commandContext = commandContext;
    }

    ImageRequest read() {
        Action action = Arrays.stream(Action.values())
                .filter(each -> word(each).equals(line.word("")))
                .findFirst()
                .orElseThrow(() -> new UsageException("usage: " + SubCommand.IMAGE.usage() + "."));
        for (CommandLineOption option : line.options().keySet()) {
            if (!OPTIONS.getOrDefault(action, Set.of()).contains(option)) {
                throw new UsageException(option.longName() + " is not for 'jrun image " + word(action) + "', only for "
                        + actionsOf(option) + ".");
            }
        }
        List<String> words = line.words().subList(1, line.words().size());
        return switch (action) {
            case LS -> {
                none(action, words);
                yield new ImageRequest.ListAll(json());
            }
            case PULL -> new ImageRequest.Pull(image(one(action, words)), json());
            case IMPORT -> imported(image(one(action, words)));
            case INSPECT -> new ImageRequest.Inspect(one(action, words), json());
            case CREATE -> create(commandContext.resolve(one(action, words)));
            case RM -> {
                if (words.isEmpty()) {
                    throw new UsageException(
                            "IMAGE is missing: jrun image rm IMAGE... 'jrun image ls' shows the images.");
                }
                yield new ImageRequest.Remove(words);
            }
            case PRUNE -> {
                none(action, words);
                yield new ImageRequest.Prune(OptionValues.count(
                        line.value(CommandOption.OLDER_THAN).orElse(DAYS),
                        CommandOption.OLDER_THAN.longName(),
                        0,
                        MOST_DAYS));
            }
        };
    }

    private static String word(Action action) {
        return action.name().toLowerCase(Locale.ROOT);
    }

    private static String actionsOf(CommandLineOption option) {
        return Arrays.stream(Action.values())
                .filter(action -> OPTIONS.getOrDefault(action, Set.of()).contains(option))
                .map(ImageRequestReader::word)
                .collect(Collectors.joining(", "));
    }

    private boolean json() {
        return line.has(CommandOption.JSON);
    }

    private static void none(Action action, List<String> words) {
        if (!words.isEmpty()) {
            throw new UsageException(
                    "'" + words.getFirst() + "' is one word too many: jrun image " + word(action) + ".");
        }
    }

    private static String one(Action action, List<String> words) {
        String operand = action == Action.CREATE ? "FILE" : "IMAGE";
        if (words.isEmpty() || words.getFirst().isEmpty()) {
            throw new UsageException(operand + " is missing: jrun image " + word(action) + " " + operand + ".");
        }
        none(action, words.subList(1, words.size()));
        return words.getFirst();
    }

    private ImageReference image(String text) {
        try {
            return ImageReference.parse(text) instanceof ImageReference.Local local
                    ? new ImageReference.Local(
                            commandContext.resolve(local.path()).toString())
                    : ImageReference.parse(text);
        } catch (ContainerFormatException e) {
            throw new UsageException(e.getMessage() + ".");
        }
    }

    private ImageRequest imported(ImageReference image) {
        String name = image instanceof ImageReference.Registry registry
                ? registry.repository().replace('/', '+') + "+"
                        + (registry.digest().isEmpty()
                                ? registry.tag()
                                : registry.digest().replace(':', '-'))
                : Path.of(image.text())
                        .getFileName()
                        .toString()
                        .replace(':', '+')
                        .replaceFirst("\\.tar$", "");
        return new ImageRequest.Import(
                image, commandContext.resolve(line.value(CommandOption.OUTPUT).orElse(name + ".sqsh")));
    }

    private ImageRequest create(Path output) {
        Optional<String> rootfs = line.value(CommandOption.ROOTFS);
        Optional<String> debian = line.value(CommandOption.DEBIAN);
        if (rootfs.isPresent() == debian.isPresent()) {
            throw new UsageException("give --rootfs=DIR or --debian=SUITE: jrun image create FILE --rootfs=DIR.");
        }
        Optional<String> packages = line.value(CommandOption.PACKAGES);
        if (rootfs.isPresent()) {
            if (packages.isPresent()) {
                throw new UsageException("--packages is for --debian. Leave it out.");
            }
            return new ImageRequest.CreateOfFolder(output, commandContext.resolve(rootfs.get()));
        }
        List<String> names = packages.map(text -> List.of(text.split(",", -1))).orElse(List.of());
        if (!names.stream().allMatch(name -> PACKAGE.matcher(name).matches())) {
            throw OptionValues.refused("--packages", packages.orElse(""), "names of packages: python3,libgomp1");
        }
        if (!SUITE.matcher(debian.orElseThrow()).matches()) {
            throw OptionValues.refused("--debian", debian.get(), "a suite of Debian: bookworm");
        }
        return new ImageRequest.CreateOfDebian(output, debian.get(), names);
    }
}
