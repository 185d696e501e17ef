package io.jrun.agent.image.pull;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.jrun.agent.container.ContainerException;
import io.jrun.agent.image.CachedImage;
import io.jrun.agent.image.FolderDeletion;
import io.jrun.agent.image.ImageCache;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Brings one image into the cache. One process at a time prepares an image. Other processes wait for the kernel's lock
 * on a file. The lock ends with the process that holds the lock.
 */
final class ImagePull {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long WAIT_MILLIS = 100;
    private static final long SAY_EVERY = 100; // waits

    private final ImageSource source;
    private final ImageCache cache;
    private final long limit;
    private final Consumer<String> lines;
    private final Consumer<String> onTimeout;

    /**
     * A pull.
     *
     * @param limit the limit of unpacked bytes
     * @param lines receives sentences about the progress
     * @param onTimeout receives a sentence when no byte has moved for a minute
     */
    ImagePull(ImageSource source, ImageCache cache, long limit, Consumer<String> lines, Consumer<String> onTimeout) {
        this.source = source;
        this.cache = cache;
        this.limit = limit;
        this.lines = lines;
        this.onTimeout = onTimeout;
    }

    /** The folder of the image's entry in the cache. */
    Path run() throws ContainerException, IOException, InterruptedException {
        ImageManifest manifest = ImageManifest.read(source);
        Optional<CachedImage> there = cache.find(manifest.digest());
        if (there.isPresent()) {
            return used(there.get());
        }
        try (FileChannel channel = FileChannel.open(
                        cache.lock(manifest.digest()), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock _ = lock(channel)) {
            Optional<CachedImage> made = cache.find(manifest.digest());
            return used(made.isPresent() ? made.get() : make(manifest));
        }
    }

    private Path used(CachedImage image) throws IOException {
        cache.use(image, source.image());
        return image.folder();
    }

    private FileLock lock(FileChannel channel) throws IOException, InterruptedException {
        for (long turn = 0; ; turn++) {
            FileLock lock = channel.tryLock();
            if (lock != null) {
                return lock;
            }
            if (turn % SAY_EVERY == 0) {
                lines.accept("image " + source.image() + ": waiting for another jrun on this node that prepares the"
                        + " image");
            }
            Thread.sleep(WAIT_MILLIS);
        }
    }

    private CachedImage make(ImageManifest manifest) throws ContainerException, IOException, InterruptedException {
        Path work = cache.work(manifest.digest());
        cache.sweep(); // of processes that were killed
        FolderDeletion.delete(work);
        try {
            long began = System.nanoTime();
            Files.createDirectory(work);
            Path entry = Files.createDirectory(work.resolve("entry"));
            DiskRoom room = new DiskRoom(work, limit);
            unpack(manifest, fetch(manifest, work, room), entry, room);
            Files.move(entry, cache.entry(manifest.digest()), StandardCopyOption.ATOMIC_MOVE);
            CachedImage image = cache.find(manifest.digest()).orElseThrow();
            lines.accept("image " + source.image() + ": prepared in "
                    + Math.round((System.nanoTime() - began) / 1e8) / 10.0 + " s ("
                    + TransferProgress.size(manifest.bytes()) + " in "
                    + manifest.layers().size()
                    + " layers, unpacked " + TransferProgress.size(image.unpackedBytes()) + ")");
            return image;
        } catch (DiskRoom.LimitException e) {
            throw new ContainerException("the image " + source.image() + " is refused: " + e.getMessage(), e);
        } catch (IOException e) {
            if (BlobDownload.isDiskFull(e)) {
                throw diskFull(manifest, e);
            }
            throw e;
        } finally {
            FolderDeletion.delete(work);
        }
    }

    private ContainerException diskFull(ImageManifest manifest, IOException e) {
        return new ContainerException(
                "no space for the image " + source.image() + " in " + cache.folder() + " (layers of "
                        + TransferProgress.size(manifest.bytes()) + ", and their files unpacked; "
                        + (e instanceof DiskRoom.FullException ? e.getMessage() : "the disk is full")
                        + "); remove images with "
                        + "'jrun image prune', or name a folder of a larger disk with " + ImageCache.VARIABLE,
                e);
    }

    private BlobDownload fetch(ImageManifest manifest, Path work, DiskRoom room)
            throws ContainerException, IOException, InterruptedException {
        room.check(manifest.bytes());
        Path blobs = Files.createDirectory(work.resolve("blobs"));
        try (TransferProgress progress = progress("copying", manifest)) {
            BlobDownload download = new BlobDownload(source, blobs, progress);
            download.fetch(List.of(manifest.config()));
            ImageManifest.checkPlatform(config(manifest, download), source.image());
            download.fetch(manifest.layers());
            return download;
        }
    }

    private JsonNode config(ImageManifest manifest, BlobDownload download) throws ContainerException, IOException {
        return ImageManifest.parse(Files.readAllBytes(download.file(manifest.config())), source.image());
    }

    private TransferProgress progress(String verb, ImageManifest manifest) {
        String step = "image " + source.image() + ": " + verb;
        return new TransferProgress(
                step,
                manifest.bytes(),
                lines,
                () -> onTimeout.accept("the image " + source.image()
                        + " cannot be prepared: no byte has arrived for 60 s; try again when the registry works"));
    }

    private void unpack(ImageManifest manifest, BlobDownload download, Path entry, DiskRoom room)
            throws ContainerException, IOException {
        JsonNode config = config(manifest, download);
        ImageRoot root = new ImageRoot(Files.createDirectory(CachedImage.root(entry)));
        ImageRoot.setMode(root.root(), 0755, true);
        LayerUnpacker unpacker = new LayerUnpacker(root, room);
        try (TransferProgress progress = progress("unpacking", manifest)) {
            for (int i = 0; i < manifest.layers().size(); i++) {
                unpack(manifest.layers().get(i), i, download, unpacker, progress);
            }
        }
        ImageSettingsFiles.write(root, config.path("config"));
        ObjectNode description = JSON.createObjectNode()
                .put("bytes", manifest.bytes())
                .put("unpacked", unpacker.bytes())
                .put("layers", manifest.layers().size())
                .put("platform", ImageManifest.checkPlatform(config, source.image()));
        description.set("config", config.path("config"));
        CachedImage.describe(entry, description);
    }

    private void unpack(Blob layer, int index, BlobDownload download, LayerUnpacker unpacker, TransferProgress progress)
            throws ContainerException, IOException {
        try (InputStream file = Files.newInputStream(download.file(layer));
                Sha256Stream counted = new Sha256Stream(file, progress::add)) {
            unpacker.unpack(counted);
        } catch (ImageRoot.PathException e) {
            throw new ContainerException(
                    "the image " + source.image() + " is refused: " + e.getMessage() + " (layer " + index + ", "
                            + layer.digest() + ")",
                    e);
        } catch (IOException e) {
            if (BlobDownload.isDiskFull(e) || e instanceof DiskRoom.LimitException) {
                throw e;
            }
            throw new ContainerException(
                    "the image " + source.image() + " is damaged: layer " + index + " (" + layer.digest()
                            + ") cannot be unpacked: " + e.getMessage(),
                    e);
        }
    }
}
