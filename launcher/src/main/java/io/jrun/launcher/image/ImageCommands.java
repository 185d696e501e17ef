package io.jrun.launcher.image;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.NamedContainers;
import io.jrun.agent.image.CachedImage;
import io.jrun.agent.image.ImageCache;
import io.jrun.agent.image.ImagePreparer;
import io.jrun.agent.node.UserId;
import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.cli.ImageRequest;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.json.JsonLine;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Runs one command about images. Confined to one thread. */
public final class ImageCommands {
    /** The exit code of a valid command whose image could not be prepared. */
    private static final int FAILED = 1;

    private static final String NAMED_IN_DIGEST = "sha256:";
    private static final NamedContainers NAMED = NamedContainers.ofUser(UserId.ofThisProcess());

    private final CommandContext commandContext;
    private final OutputStream out;
    private final Consumer<String> report;

    /**
     * Runs commands of a user.
     *
     * @param out receives the result
     * @param report receives notices for the user
     */
    public ImageCommands(CommandContext commandContext, OutputStream out, Consumer<String> report) {
        this.commandContext = commandContext;
        this.out = out;
        this.report = report;
    }

    /**
     * Runs the command. Returns the exit code.
     *
     * @throws UsageException with one line for the user, if the command is impossible
     */
    public int run(ImageRequest request) throws IOException, InterruptedException {
        try {
            switch (request) {
                case ImageRequest.ListAll(boolean json) -> print(ImageText.list(cache().list(), json));
                case ImageRequest.Pull pull -> pull(pull);
                case ImageRequest.Import imported -> importImage(imported);
                case ImageRequest.Inspect(String image, boolean json) -> print(inspect(image, json));
                case ImageRequest.CreateOfFolder create -> create(create);
                case ImageRequest.CreateOfDebian create -> create(create);
                case ImageRequest.Remove(List<String> images) -> remove(images);
                case ImageRequest.Prune(int days) -> prune(days);
            }
            return 0;
        } catch (ContainerException e) {
            report.accept(e.getMessage());
            return FAILED;
        }
    }

    private ImageCache cache() throws ContainerException {
        return ImageCache.open(commandContext.environment());
    }

    private Path prepared(ImageReference image) throws ContainerException, InterruptedException {
        if (image instanceof ImageReference.Local local) {
            Path path = Path.of(local.path());
            if (ImagePreparer.isReady(path)) {
                throw new UsageException(
                        Files.exists(path)
                                ? path + " needs no preparation. Give the path to --container-image."
                                : "the image " + path + " does not exist.");
            }
        }
        return new ImagePreparer(ImagePreparer.installedClassPath(), commandContext.environment(), report).entry(image);
    }

    private void pull(ImageRequest.Pull request) throws ContainerException, IOException, InterruptedException {
        Path entry = prepared(request.image());
        String digest = entry.getFileName().toString().replace("sha256-", NAMED_IN_DIGEST);
        print(
                request.json()
                        ? JsonLine.of(Map.of(
                                "image",
                                request.image().text(),
                                "digest",
                                digest,
                                "folder",
                                CachedImage.root(entry).toString()))
                        : digest + "  " + request.image().text());
    }

    private void importImage(ImageRequest.Import request) throws ContainerException, IOException, InterruptedException {
        SquashfsFile file = SquashfsFile.at(request.output(), commandContext.environment());
        write(file, CachedImage.root(prepared(request.image())));
    }

    private void write(SquashfsFile file, Path root) throws ContainerException, IOException, InterruptedException {
        report.accept("writing " + file.path());
        file.make(root, report);
        print(file.path() + "  " + ImageText.size(Files.size(file.path())));
    }

    private void create(ImageRequest.CreateOfFolder request)
            throws ContainerException, IOException, InterruptedException {
        if (!Files.isDirectory(request.rootfs())) {
            throw new UsageException("--rootfs: " + request.rootfs() + " is not a folder.");
        }
        write(SquashfsFile.at(request.output(), commandContext.environment()), request.rootfs());
    }

    private void create(ImageRequest.CreateOfDebian request)
            throws ContainerException, IOException, InterruptedException {
        SquashfsFile file = SquashfsFile.at(request.output(), commandContext.environment());
        try (DebianRoot root = DebianRoot.make(request, commandContext.environment(), report)) {
            write(file, root.folder());
        }
    }

    private String inspect(String image, boolean json) throws ContainerException, IOException, InterruptedException {
        Path path = commandContext.resolve(image);
        if (Files.isRegularFile(path) && ImagePreparer.isReady(path)) {
            return ImageText.squashfs(
                    SquashfsFile.at(path.resolveSibling(path.getFileName() + ".none"), commandContext.environment())
                            .read(path),
                    path,
                    json);
        }
        return ImageText.describe(find(cache(), image), json);
    }

    /** Finds an image by a name, or by the beginning of a digest. */
    private CachedImage find(ImageCache cache, String text) throws IOException {
        List<CachedImage> all = cache.list();
        String canonical = canonical(text);
        List<CachedImage> named =
                all.stream().filter(image -> image.names().contains(canonical)).toList();
        if (named.isEmpty()) {
            String digest = text.startsWith(NAMED_IN_DIGEST) ? text : NAMED_IN_DIGEST + text;
            named = all.stream()
                    .filter(image -> image.digest().startsWith(digest))
                    .toList();
        }
        if (named.size() == 1) {
            return named.getFirst();
        }
        throw new UsageException(
                named.isEmpty()
                        ? "no image '" + text + "' is in the cache of this node; 'jrun image ls' shows the images, "
                                + "'jrun image pull' brings one."
                        : "'" + text + "' begins the digests of " + named.size() + " images; give more digits.");
    }

    private String canonical(String text) {
        try {
            return switch (ImageReference.parse(text)) {
                case ImageReference.Local local ->
                    commandContext.resolve(local.path()).toString();
                case ImageReference.Registry registry -> registry.text();
            };
        } catch (IllegalArgumentException e) {
            return text;
        }
    }

    private void remove(List<String> images) throws ContainerException, IOException {
        ImageCache cache = cache();
        List<CachedImage> found = new ArrayList<>();
        for (String image : images) {
            found.add(find(cache, image));
        }
        for (CachedImage image : found) {
            List<String> containers = containers(image);
            if (!containers.isEmpty()) {
                throw new UsageException("the container " + containers.getFirst()
                        + " on this node is made from the image " + image.digest() + "; delete "
                        + NAMED.folder().resolve(containers.getFirst()) + " first.");
            }
            if (cache.isMounted(image)) {
                throw inUse(image);
            }
        }
        for (CachedImage image : found) {
            if (!cache.remove(image)) {
                throw inUse(image);
            }
            print("removed " + image.digest());
        }
    }

    private static UsageException inUse(CachedImage image) {
        return new UsageException(
                "a job on this node uses the image " + image.digest() + "; 'jrun ps' shows the jobs.");
    }

    private static List<String> containers(CachedImage image) throws IOException {
        return NAMED.madeFrom(image.folder());
    }

    private void prune(int days) throws ContainerException, IOException {
        ImageCache cache = cache();
        Instant since = Instant.now().minus(Duration.ofDays(days));
        int count = 0;
        long rest = cache.sweep();
        long bytes = rest;
        if (rest > 0) {
            print("removed " + ImageText.size(rest) + " of pulls that were interrupted");
        }
        for (CachedImage image : cache.list()) {
            if (!image.used().isBefore(since)
                    || cache.isMounted(image)
                    || !containers(image).isEmpty()) {
                continue;
            }
            long size = image.unpackedBytes();
            if (cache.remove(image)) {
                print("removed " + image.digest() + "  " + String.join(" ", image.names()));
                bytes += size;
                count++;
            }
        }
        print(count + " images removed, " + ImageText.size(bytes) + " in all");
    }

    private void print(String text) throws IOException {
        out.write((text.endsWith("\n") ? text : text + "\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }
}
