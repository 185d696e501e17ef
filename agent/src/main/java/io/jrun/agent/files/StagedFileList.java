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
 * What an agent has put into a job's folder, in a file of its own: the agent's identity, then each path with what tells whether
 * it is still the same. So what was put there can be removed by another agent if the first is killed. Confined to one thread.
 */
final class StagedFileList {
    /** A name of a file may have a line feed in it. */
    private static final String END = "\0";

    private static final Path PID_NAMESPACE = Path.of("/proc/self/ns/pid");

    private final Path file;

    private StagedFileList(Path file) {
        this.file = file;
    }

    /** A new one of this process. */
    static StagedFileList create(Path file) throws IOException {
        StagedFileList list = new StagedFileList(file);
        list.append(owner(), StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
        return list;
    }

    /** Removes what agents have put into folders that died before they could remove it. */
    static void sweep(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return;
        }
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
                // its owner, or another agent, was faster
            }
        }
    }

    /** Adds a file, folder or link that is there. */
    void add(Path path) throws IOException {
        append(state(path) + " " + path, StandardOpenOption.APPEND);
    }

    /** Removes all that is still as it was put there, and the list. */
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
                // the worker's doing
            }
        }
        Files.deleteIfExists(file);
    }

    private void append(String entry, OpenOption... how) throws IOException {
        Files.writeString(file, entry + END, how);
    }

    /** The last one is torn if its writer was killed meanwhile, and then dropped. */
    private static List<String> entries(Path file) throws IOException {
        String text = Files.readString(file);
        return List.of(text.substring(0, text.lastIndexOf(END) + 1).split(END, -1));
    }

    /** The same object, and unless it is a folder with the same content. Without blanks. */
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

    /** Only where this process can tell: the owner was one of this machine, and would be seen from here. */
    private static boolean isDead(String line) throws IOException {
        String[] words = line.split(" ", -1);
        if (words.length != 5) {
            return false;
        }
        ProcessIdentity owner =
                new ProcessIdentity(words[0], Long.parseLong(words[1]), words[2], Long.parseLong(words[3]));
        return owner.isHere()
                && words[4].equals(Files.readSymbolicLink(PID_NAMESPACE).toString())
                && !owner.isAlive();
    }
}
