package io.jrun.launcher.jobs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The processes, shared memory and temporary folders that the jobs of this test JVM have left on the machine since a
 * moment. A folder counts if its agent is a process that the test JVM has started. Agents of ssh and of Slurm are not.
 */
final class Leftovers {
    /** Every process that a test starts inherits it, whatever becomes of its parents. */
    static final String OWNER_VARIABLE = "JRUN_TEST_OWNER";

    static final String OWNER = Long.toString(ProcessHandle.current().pid());

    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final Path TEMP = Path.of(System.getProperty("java.io.tmpdir"));

    /** An agent's socket folder names the process that made it. */
    private static final Pattern SOCKET_FOLDER = Pattern.compile("jrun-(\\d+)-[0-9a-f]+");

    /** The numbers of the processes that this test JVM has started. Other tests leave folders of dead agents, too. */
    private static final Set<String> STARTED = ConcurrentHashMap.newKeySet();

    private final Set<Path> earlierFolders;

    private Leftovers(Set<Path> earlierFolders) {
        this.earlierFolders = earlierFolders;
    }

    /** From now on. */
    static Leftovers sinceNow() {
        return new Leftovers(new HashSet<>(socketFolders()));
    }

    /** From now on, the folders of this process count. */
    static void started(Process process) {
        STARTED.add(Long.toString(process.pid()));
    }

    /** One line for each thing that is left at this moment. */
    List<String> find() {
        List<String> found = new ArrayList<>();
        processes().forEach(pid -> found.add("process " + pid + ": " + text(pid, "cmdline")));
        list(SHARED_MEMORY, name -> name.matches("jrun-\\d+-" + JRun.RUN_ID_START + ".*"))
                .forEach(file -> found.add(file.toString()));
        socketFolders().stream()
                .filter(folder -> !earlierFolders.contains(folder))
                .forEach(folder -> found.add(folder.toString()));
        return found;
    }

    private static List<String> processes() {
        return processesWith(OWNER_VARIABLE + "=" + OWNER);
    }

    /** Ends the processes that are left. */
    static void endProcesses() {
        processes().forEach(pid -> ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly));
    }

    /** The living processes whose environment has all of these {@code settings}. */
    static List<String> processesWith(String... settings) {
        return list(Path.of("/proc"), name -> name.matches("\\d+")).stream()
                .map(process -> process.getFileName().toString())
                .filter(pid ->
                        Arrays.asList(text(pid, "environ").split("\0", -1)).containsAll(List.of(settings)))
                .toList();
    }

    /** Folders of agents that are gone; those of the living are in use. */
    private static List<Path> socketFolders() {
        return list(TEMP, name -> SOCKET_FOLDER.matcher(name).matches()).stream()
                .filter(folder -> {
                    Matcher matcher = SOCKET_FOLDER.matcher(folder.getFileName().toString());
                    return matcher.matches()
                            && STARTED.contains(matcher.group(1))
                            && !Files.exists(Path.of("/proc", matcher.group(1)));
                })
                .toList();
    }

    private static String text(String pid, String file) {
        try {
            return new String(Files.readAllBytes(Path.of("/proc", pid, file)), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return ""; // it ended meanwhile
        }
    }

    private static List<Path> list(Path folder, Predicate<String> hasName) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> hasName.test(file.getFileName().toString()))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
