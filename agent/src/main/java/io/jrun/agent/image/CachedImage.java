package io.jrun.agent.image;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * An image of the cache.
 *
 * @param folder the entry: a folder with the root file system and a description
 * @param digest the digest of the manifest, as {@code sha256:...}
 * @param names the names by which the image was requested
 * @param prepared the time of the preparation
 * @param used the time of the last request by a job or command
 */
public record CachedImage(Path folder, String digest, List<String> names, Instant prepared, Instant used) {
    private static final String DESCRIPTION = "image.json";
    private static final String ROOT = "rootfs";

    /** Copies the list. */
    public CachedImage {
        names = List.copyOf(names);
    }

    /** Reads an entry; empty if the folder is not an entry of a cache. */
    static Optional<CachedImage> read(Path folder, List<String> names) throws IOException {
        Path description = folder.resolve(DESCRIPTION);
        if (!Files.isRegularFile(description) || !Files.isDirectory(folder.resolve(ROOT))) {
            return Optional.empty();
        }
        return Optional.of(new CachedImage(
                folder,
                "sha256:" + folder.getFileName().toString().substring(ImageCache.PREFIX.length()),
                names,
                Files.getLastModifiedTime(description).toInstant(),
                Files.getLastModifiedTime(folder).toInstant()));
    }

    /** Writes the description of an entry during its making. */
    public static void describe(Path folder, ObjectNode description) throws IOException {
        new ObjectMapper().writeValue(folder.resolve(DESCRIPTION).toFile(), description);
    }

    /** The root file system of an entry. */
    public static Path root(Path folder) {
        return folder.resolve(ROOT);
    }

    /** The root file system. */
    public Path root() {
        return root(folder);
    }

    /**
     * {@code bytes} of the layers, {@code unpacked} bytes, count of {@code layers}, {@code platform} and the
     * {@code config} of the OCI image specification.
     */
    public JsonNode description() throws IOException {
        return new ObjectMapper().readTree(folder.resolve(DESCRIPTION).toFile());
    }

    /** The bytes of the unpacked files. */
    public long unpackedBytes() throws IOException {
        return description().path("unpacked").asLong();
    }
}
