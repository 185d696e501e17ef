package io.jrun.agent.container;

import io.jrun.agent.files.PrivateFolder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

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
        return new NamedContainers(PrivateFolder.ofUser(uid).resolve("containers"));
    }

    /** The folder of a container. */
    public Path folder(String name) {
        return folder.resolve(name);
    }

    /**
     * Makes the folder of a container for this user only, with the folders above.
     *
     * @throws IOException if another user may write to one of the folders, or has made it
     */
    public void claim(String name) throws IOException {
        for (Path each : folders(name)) {
            PrivateFolder.claim(each);
        }
    }

    /** The folder of this user, the folder of all containers, and the folder of one container. */
    private List<Path> folders(String name) {
        return List.of(folder.resolveSibling(""), folder, folder(name));
    }

    /**
     * Whether the folder of a container exists. Call the method before a file of the folder is read.
     *
     * @throws IOException if another user may write to the folder, or has made it
     */
    public boolean hasFolder(String name) throws IOException {
        for (Path each : folders(name)) {
            if (!PrivateFolder.exists(each)) {
                return false;
            }
        }
        return true;
    }

    /**
     * The image below a container; empty if no container has the name.
     *
     * @throws IOException if another user may write to the folder of the container, or has made it
     */
    public Optional<Path> image(String name) throws IOException {
        Path file = folder(name).resolve(IMAGE);
        return hasFolder(name) && Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                ? Optional.of(Path.of(Files.readString(file, StandardCharsets.UTF_8)))
                : Optional.empty();
    }

    /** Names of the containers whose image is {@code image} or lies below. */
    public List<String> madeFrom(Path image) throws IOException {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> containers = Files.newDirectoryStream(folder)) {
            for (Path container : containers) {
                String name = container.getFileName().toString();
                if (image(name).filter(own -> own.startsWith(image)).isPresent()) {
                    names.add(name);
                }
            }
        } catch (NoSuchFileException e) {
            return List.of();
        }
        names.sort(null);
        return List.copyOf(names);
    }
}
