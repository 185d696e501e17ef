package io.jrun.agent.control;

import io.jrun.agent.image.FolderDeletion;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.time.Duration;
import java.time.Instant;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Removes the temporary folders of agents that were killed together with their guards. A folder is removed if it
 * belongs to this user, if its process has ended, and if nobody accepts connections: in another container the number
 * of the process means another process. Stateless.
 */
final class AbandonedSockets {
    private static final Pattern NAME = Pattern.compile("jrun-(\\d{1,9})-\\d+");

    /** A new agent has its socket before this time, and accepts connections. */
    private static final Duration LEAST_AGE = Duration.ofMinutes(1);

    private AbandonedSockets() {}

    /** Removes the abandoned folders in {@code temp}. A folder that cannot be removed stays. */
    static void sweep(Path temp) {
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(temp, "jrun-*")) {
            UserPrincipal self = Files.getOwner(Path.of("/proc/self"));
            for (Path folder : folders) {
                Matcher name = NAME.matcher(String.valueOf(folder.getFileName()));
                if (name.matches()
                        && ProcessHandle.of(Long.parseLong(name.group(1))).isEmpty()
                        && isOldFolderOf(self, folder)
                        && nobodyAccepts(ControlSocket.socketIn(folder))) {
                    delete(folder);
                }
            }
        } catch (IOException e) {
            // the next agent tries again
        }
    }

    /** Deletes a folder with all that its agent has left there. */
    private static void delete(Path folder) {
        try {
            FolderDeletion.delete(folder);
        } catch (IOException e) {
            // the next agent tries again; the other folders do not wait for this one
        }
    }

    private static boolean isOldFolderOf(UserPrincipal self, Path folder) throws IOException {
        Instant changed =
                Files.getLastModifiedTime(folder, LinkOption.NOFOLLOW_LINKS).toInstant();
        return Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)
                && Files.getOwner(folder, LinkOption.NOFOLLOW_LINKS).equals(self)
                && changed.isBefore(Instant.now().minus(LEAST_AGE));
    }

    private static boolean nobodyAccepts(Path socket) {
        try (SocketChannel _ = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            return false;
        } catch (ConnectException e) {
            return true;
        } catch (IOException e) {
            return !Files.exists(socket, LinkOption.NOFOLLOW_LINKS);
        }
    }
}
