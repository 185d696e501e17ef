package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;

/**
 * The files of /etc that a container gets from the node. An image may lack these files. A JVM needs the user's line of
 * passwd to find the home folder, and needs hosts to find its own address. Stateless.
 */
final class AccountFiles {
    private static final String HOSTS = "/etc/hosts";

    private static final String APT_SETTINGS = "/etc/apt/apt.conf.d";

    private AccountFiles() {}

    /**
     * Writes the files.
     *
     * @param account the user inside
     * @param oneId whether the user inside is the only one whom the kernel knows there. apt then must not become the user
     *     _apt for its downloads, because apt checks afterwards that it has
     */
    static void write(ContainerRoot root, MountPointLayer layer, Path image, Account account, boolean oneId)
            throws ContainerException {
        try {
            write(root, layer, image, "/etc/passwd", first(passwd(account), ImageReader.text(root, "/etc/passwd")));
            write(root, layer, image, "/etc/group", first(group(account), ImageReader.text(root, "/etc/group")));
            write(root, layer, image, HOSTS, nodeFile(HOSTS));
            write(root, layer, image, "/etc/resolv.conf", nodeFile("/etc/resolv.conf"));
            write(root, layer, image, "/etc/hostname", nodeFile("/etc/hostname"));
            if (oneId && Files.isDirectory(root.find(APT_SETTINGS))) {
                write(
                        root,
                        layer,
                        image,
                        root.resolve(APT_SETTINGS, true) + "/99jrun",
                        "APT::Sandbox::User \"root\";\n");
            }
        } catch (IOException e) {
            throw new ContainerException(
                    "the files of /etc cannot be written for the container: " + ContainerException.words(e), e);
        }
    }

    /** Puts a line first. A root with a name has the line of an earlier job. */
    private static String first(String line, String text) {
        return line
                + text.lines()
                        .map(each -> each + "\n")
                        .filter(each -> !each.equals(line))
                        .collect(Collectors.joining());
    }

    /** The first line of a user counts. */
    private static String passwd(Account account) {
        return account.user() + ":x:" + account.uid() + ":" + account.gid() + "::" + account.home() + ":/bin/sh\n";
    }

    private static String group(Account account) {
        return account.group() + ":x:" + account.gid() + ":\n";
    }

    private static String nodeFile(String path) throws IOException {
        Path file = Path.of(path);
        return Files.isReadable(file) ? Files.readString(file, StandardCharsets.ISO_8859_1) : "";
    }

    /** Writes a file that covers the image's file, also if the image's file is a link. */
    private static void write(ContainerRoot root, MountPointLayer layer, Path image, String path, String text)
            throws IOException, ContainerException {
        if (!text.isEmpty()) {
            layer.write(image, root.resolve(path, false), text);
        }
    }
}
