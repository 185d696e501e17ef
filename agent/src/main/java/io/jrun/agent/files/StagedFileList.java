package io.jrun.agent.files;

import io.jrun.agent.node.ProcessIdentity;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.stream.Stream;

/**
 * A list file of all files that an agent has put into the folder of a job: the identity of the agent, then each path
 * with the state of its file. Another agent can remove unchanged files by this list if the first agent was killed.
 * Confined to one thread.
 */
final class StagedFileList {
    /** The end of an entry. A file name may contain a line feed. */
    private static final String END = "\0";

    private static final Path PID_NAMESPACE = Path.of("/proc/self/ns/pid");

    private final Path file;

    private StagedFileList(Path file) {
        this.file = file;
    }

    /** Makes a new list of this process. */
    static StagedFileList create(Path file) throws IOException {
        StagedFileList list = new StagedFileList(file);
        list.append(owner(), StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
        return list;
    }

    /** Removes the files of agents that died before they could remove their files. */
    static void sweep(Path folder) throws IOException {
        List<Path> lists = new ArrayList<>();
        try (Stream<Path> files = Files.list(folder)) {
            files.forEach(lists::add);
        }
        for (Path file : lists) {
            try {
                if (isDead(entries(file).getFirst())) {
                    new StagedFileList(file).remove();
                }
            } catch (NoSuchFileException e) {
                // the owner of the list, or another agent, has removed the list
            }
        }
    }

    /** Adds an existing file, folder or link. */
    void add(Path path) throws IOException {
        append(state(path) + " " + path, StandardOpenOption.APPEND);
    }

    /** Removes all unchanged files, and the list. */
    void remove() throws IOException {
        Deque<String> last = new ArrayDeque<>();
        entries(file).stream().skip(1).filter(entry -> !entry.isEmpty()).forEach(last::push);
        for (String entry : last) {
            int blank = entry.indexOf(' ');
            Path path = Path.of(entry.substring(blank + 1));
            try {
                if (state(path).equals(entry.substring(0, blank))) {
                    Files.delete(path);
                }
            } catch (NoSuchFileException | DirectoryNotEmptyException e) {
                // a worker has changed or removed the file
            }
        }
        Files.deleteIfExists(file);
    }

    private void append(String entry, OpenOption... how) throws IOException {
        Files.writeString(file, entry + END, how);
    }

    /** Reads the entries. The last entry is incomplete if its writer was killed, and is then ignored. */
    private static List<String> entries(Path file) throws IOException {
        String text = Files.readString(file);
        return List.of(text.substring(0, text.lastIndexOf(END) + 1).split(END, -1));
    }

    /**
     * Returns the state of a file, without blanks. Equal states mean the same file with the same content, or the same
     * folder.
     */
    private static String state(Path path) throws IOException {
        BasicFileAttributes found = Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        return found.fileKey() + (found.isDirectory() ? "" : "@" + found.lastModifiedTime());
    }

    private static String owner() throws IOException {
        ProcessIdentity here = ProcessIdentity.current();
        return String.join(
                " ",
                here.host(),
                Long.toString(here.pid()),
                here.boot(),
                Long.toString(here.startTicks()),
                Files.readSymbolicLink(PID_NAMESPACE).toString());
    }

    /** Whether the owner is dead. The answer is known only for processes of this machine that this process can see. */
    private static boolean isDead(String line) throws IOException {
        String[] words = line.split(" ", -1);
        if (words.length != 5) {
            return false;
        }
        ProcessIdentity owner =
                new ProcessIdentity(words[0], Long.parseLong(words[1]), words[2], Long.parseLong(words[3]));
        return owner.isOnThisMachine()
                && words[4].equals(Files.readSymbolicLink(PID_NAMESPACE).toString())
                && !owner.isAlive();
    }
}
