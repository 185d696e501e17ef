package io.jrun.agent.container;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The containers with a name of one user on this node. Stateless.
 *
 * @param folder on a disk of the node. {@code folder/NAME/image} holds the path of the image below the container
 */
public record NamedContainers(Path folder) {
    /** The file with the path of the image, in the folder of a container. */
    public static final String IMAGE = "image";

    /** The containers of a user. */
    public static NamedContainers ofUser(int uid) {
        return new NamedContainers(Path.of("/var/tmp/jrun-" + uid, "containers"));
    }

    /** Names of the containers whose image is {@code image} or lies below. */
    public List<String> madeFrom(Path image) throws IOException {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> containers = Files.newDirectoryStream(folder)) {
            for (Path container : containers) {
                Path file = container.resolve(IMAGE);
                if (Files.isRegularFile(file)
                        && Path.of(Files.readString(file, StandardCharsets.UTF_8))
                                .startsWith(image)) {
                    names.add(container.getFileName().toString());
                }
            }
        } catch (NoSuchFileException e) {
            return List.of();
        }
        names.sort(null);
        return List.copyOf(names);
    }
}
