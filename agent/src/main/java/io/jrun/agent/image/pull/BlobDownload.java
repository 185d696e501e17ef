package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Copies the files of an image into a folder, several at once, and verifies their size and digest. */
final class BlobDownload {
    /**
     * The number of attempts for a layer. Connections often break in the middle of a large layer. After three broken
     * connections the registry is considered down.
     */
    private static final int ATTEMPTS = 3;

    /**
     * The number of concurrent connections, as in Docker. More connections are not faster, and some registries refuse
     * more.
     */
    private static final int AT_ONCE = 4;

    private static final long PAUSE_MILLIS = 1_000;
    private static final int BUFFER = 1 << 16;

    private final ImageSource source;
    private final Path folder;
    private final TransferProgress progress;

    BlobDownload(ImageSource source, Path folder, TransferProgress progress) {
        this.source = source;
        this.folder = folder;
        this.progress = progress;
    }

    /** The path of a file after the download. */
    Path file(Blob blob) {
        return folder.resolve(blob.hex());
    }

    /** Copies all files. A file that occurs twice is copied once. */
    void fetch(List<Blob> blobs) throws ContainerException, IOException, InterruptedException {
        try (ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE)) {
            List<Future<?>> running = new ArrayList<>();
            for (Blob blob : new LinkedHashSet<>(blobs)) {
                running.add(threads.submit(() -> {
                    fetch(blob);
                    return null;
                }));
            }
            try {
                for (Future<?> each : running) {
                    each.get();
                }
            } catch (ExecutionException e) {
                threads.shutdownNow();
                throw failure(e);
            }
        }
    }

    private static IOException failure(ExecutionException e) throws ContainerException {
        if (e.getCause() instanceof ContainerException known) {
            throw known;
        }
        if (e.getCause() instanceof IOException known) {
            return known;
        }
        throw new IllegalStateException(e.getCause());
    }

    private void fetch(Blob blob) throws ContainerException, IOException, InterruptedException {
        for (int attempt = 1; ; attempt++) {
            try {
                copy(blob);
                return;
            } catch (FileSystemException e) {
                throw e; // The failure is from this node's disk.
            } catch (IOException e) {
                if (isDiskFull(e)) {
                    throw e;
                }
                if (attempt == ATTEMPTS || Thread.currentThread().isInterrupted()) {
                    throw broken(blob, e);
                }
                Thread.sleep(PAUSE_MILLIS);
            }
        }
    }

    static boolean isDiskFull(IOException e) {
        return e instanceof DiskRoom.FullException
                || String.valueOf(e.getMessage()).contains("No space left on device")
                || String.valueOf(e.getMessage()).contains("Disk quota exceeded");
    }

    private ContainerException broken(Blob blob, IOException e) {
        return new ContainerException(
                "the image " + source.image() + " cannot be read: the layer " + blob.digest() + " broke off " + ATTEMPTS
                        + " times (" + e.getMessage() + "); try again when the registry works",
                e);
    }

    /** Copies no more than the bytes that the manifest names. */
    private void copy(Sha256Stream in, Blob blob) throws ContainerException, IOException {
        byte[] buffer = new byte[BUFFER];
        try (OutputStream out = Files.newOutputStream(file(blob))) {
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                if (in.count() > blob.size()) {
                    throw ImageManifest.damaged(
                            source.image(),
                            "the layer " + blob.digest() + " has more than its " + blob.size() + " bytes");
                }
                out.write(buffer, 0, read);
            }
        }
    }

    private void copy(Blob blob) throws ContainerException, IOException {
        Sha256Stream in = null;
        try (InputStream opened = source.open(blob);
                Sha256Stream counted = new Sha256Stream(opened, progress::add)) {
            in = counted;
            copy(counted, blob);
            if (counted.count() < blob.size()) {
                throw new IOException("after " + counted.count() + " of " + blob.size() + " bytes");
            }
            String digest = counted.digest();
            if (!digest.equals(blob.digest())) {
                throw ImageManifest.damaged(
                        source.image(), "the content of the layer " + blob.digest() + " has the digest " + digest);
            }
        } catch (IOException e) {
            progress.add(in == null ? 0 : -in.count());
            throw e;
        }
    }
}
