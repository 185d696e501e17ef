package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.UnsharedNamespace;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A shell that keeps a mount namespace alive. The image is mounted in the namespace once for all workers of a job. The
 * shell reads from a pipe that only the agent holds. When the agent ends for any reason, the shell ends, and the kernel
 * removes the mounts, the loop device and the squashfuse process with the namespace. The shell and squashfuse ignore
 * the signals that Slurm sends to all processes of a step, because a worker gets a SIGBUS when its squashfuse ends.
 */
final class NamespaceHolder implements AutoCloseable {
    /** The way to mount an image. */
    enum Kind {
        /** A folder, by a bind mount. */
        FOLDER,
        /** A .sqsh file, by the kernel through a loop device. */
        LOOP,
        /** A .sqsh file, by squashfuse. */
        FUSE,
        /** The image and the root of another job's container, by bind mounts. */
        BESIDE
    }

    private static final String SCRIPT = """
            trap '' TERM INT HUP USR1 USR2
            kind=$1 image=$2 base=$3 mount=$4 setpriv=$5 squashfuse=$6 named=$7 flock=$8 xattr=$9
            shift 9
            ip=$1 shared=$2 umount=$3
            [ -z "$ip" ] || "$ip" link set lo up || exit 1
            if [ "$named" ] && [ "$kind" != BESIDE ]; then
              exec 8>"$named/making" 9>"$named/lock" || exit 1
              "$flock" -n 8 && "$flock" -w 1 9 || { echo taken; exit 1; }
              rm -rf "$named/running" || exit 1
            fi
            "$mount" -n -t tmpfs -o nosuid,nodev,mode=700 jrun "$base" || exit 1
            mkdir "$base/image" "$base/root" "$base/points" "$base/workers" "$base/named" || exit 1
            case $kind in
              FOLDER) "$mount" -n --rbind -- "$image" "$base/image" || exit 1 ;;
              LOOP) "$mount" -n -t squashfs -o loop,ro,nosuid,nodev -- "$image" "$base/image" || exit 1 ;;
              FUSE)
                "$setpriv" --pdeathsig KILL "$squashfuse" -f -o uid=0,gid=0 "$image" "$base/image" \\
                        </dev/null >/dev/null 8<&- 9<&- &
                turns=0
                until mountpoint -q "$base/image"; do
                  kill -0 $! || exit 1
                  turns=$((turns + 1))
                  if [ $turns -gt 3000 ]; then
                    echo 'squashfuse has not mounted it within 30 s' >&2
                    exit 1
                  fi
                  sleep 0.01
                done
                ;;
              BESIDE)
                "$mount" -n --rbind -- "$image/image" "$base/image" || exit 1
                "$mount" -n --bind -- "$image/named" "$base/named" || exit 1
                "$umount" -n -l -- "$image" || exit 1
                ;;
            esac
            if [ "$named" ]; then
              if [ "$kind" != BESIDE ]; then
                layers="lowerdir=$base/image,upperdir=$named/upper,workdir=$named/work"
                "$mount" -n -t overlay -o "$layers,nosuid,nodev$xattr" jrun "$base/named" || exit 1
                mkdir "$named/running" || exit 1
                "$flock" -s 9 || exit 1
                exec 8<&-
              fi
              printf '%s\n%s\n%s' $$ "$base" "$shared" > "$named/running/.$$" || exit 1
              mv -f "$named/running/.$$" "$named/running/$$" || exit 1
            fi
            echo ready
            read -r end
            [ -z "$named" ] || rm -f "$named/running/$$"
            if [ "$kind" = FUSE ]; then
              kill -s KILL $!
              wait
            fi
            """;

    /**
     * Locks the root with a name, before the command enters the namespaces of the other job. A job that mounts the root
     * needs the lock alone, so the root of the other job stays the only mount of its layer.
     */
    private static final String BESIDE = """
            flock=$1 lock=$2
            shift 2
            exec 9>"$lock" || exit 1
            "$flock" -w 1 -s 9 || { echo taken; exit 1; }
            exec "$@"
            """;

    /** The namespaces that all workers of a job on a node share, so that ranks reach each other at 127.0.0.1. */
    private static final List<UnsharedNamespace> OF_ALL_WORKERS =
            List.of(UnsharedNamespace.NET, UnsharedNamespace.IPC, UnsharedNamespace.UTS);

    private static final long READY_SECONDS = 60;
    private static final long CLOSE_SECONDS = 5;
    private static final int MAX_LINES = 20;

    private final @Nullable Process shell;
    private final long pid;
    private final Path base;
    private final boolean named;
    private final List<UnsharedNamespace> namespaces;
    private final Optional<SharedMounts> shared;
    private final List<String> errors = new ArrayList<>();

    private NamespaceHolder(
            @Nullable Process shell,
            long pid,
            Path base,
            boolean named,
            List<UnsharedNamespace> namespaces,
            Optional<SharedMounts> shared) {
        this.shell = shell;
        this.pid = pid;
        this.base = base;
        this.named = named;
        this.namespaces = namespaces;
        this.shared = shared;
    }

    /**
     * The namespaces of another job, which end with the other job; empty if the job has ended, or if the file is not
     * complete.
     *
     * @param file the process of the other job, its folder, and its {@link SharedMounts#text}
     * @param named whether the other job's workers share one writable root
     */
    static Optional<NamespaceHolder> running(Path file, boolean named) {
        try {
            List<String> lines = Files.readAllLines(file, StandardCharsets.UTF_8);
            long pid = Long.parseLong(lines.get(0));
            if (!Files.getOwner(Path.of("/proc/" + pid)).equals(Files.getOwner(Path.of("/proc/self")))) {
                return Optional.empty(); // Another user's process has the number of an earlier job.
            }
            SharedMounts shared = SharedMounts.read(lines.subList(2, lines.size()));
            return Optional.of(joined(pid, Path.of(lines.get(1)), named, shared))
                    .filter(NamespaceHolder::isMounted);
        } catch (IOException | RuntimeException e) {
            return Optional.empty();
        }
    }

    private static NamespaceHolder joined(long pid, Path base, boolean named, SharedMounts shared) throws IOException {
        List<UnsharedNamespace> namespaces = new ArrayList<>();
        for (UnsharedNamespace each : OF_ALL_WORKERS) {
            Path theirs = Files.readSymbolicLink(Path.of("/proc/" + pid + "/ns/" + each.word()));
            if (!theirs.equals(Files.readSymbolicLink(Path.of("/proc/self/ns/" + each.word())))) {
                namespaces.add(each);
            }
        }
        return new NamespaceHolder(null, pid, base, named, List.copyOf(namespaces), Optional.of(shared));
    }

    /**
     * Mounts the image. The job that mounts a root with a name holds its lock alone while it mounts; then all jobs with
     * the root mounted share the lock.
     *
     * @param node its scratch is an empty folder, over which the namespace has a file system of its own; its variables
     *     find the program ip
     * @param named the layer that stays on the node; empty if each worker has a layer of its own
     * @param unshare namespaces that the workers do not share with the node
     * @param shared the mounts that a job which joins the container sees
     * @param other a job that has {@code named} mounted: this job gets a container beside the other job's container,
     *     with the same root; empty if this job mounts the image
     * @return empty if another job holds the lock of {@code named}, or if {@code other} has ended
     */
    static Optional<NamespaceHolder> start(
            LocalImage image,
            NodeRequest node,
            HostTools tools,
            Account account,
            Optional<NamedRoot> named,
            List<UnsharedNamespace> unshare,
            SharedMounts shared,
            Optional<NamespaceHolder> other)
            throws ContainerException, InterruptedException {
        Path base = node.scratch();
        List<UnsharedNamespace> namespaces =
                OF_ALL_WORKERS.stream().filter(unshare::contains).toList();
        List<String> command = new ArrayList<>(List.of(tools.setsid()));
        if (other.isPresent()) {
            command.addAll(List.of("/bin/sh", "-c", BESIDE, "jrun-beside", tools.flock()));
            command.add(named.orElseThrow().folder().resolve("lock").toString());
            command.addAll(EnterCommand.enterMounts(tools, account, other.get()));
        }
        command.add(tools.unshare());
        namespaces.forEach(each -> command.add("--" + each.word()));
        if (!account.isRoot() && other.isEmpty()) {
            command.addAll(List.of("--user", "--map-root-user"));
        }
        command.addAll(List.of("--mount", "--propagation", "private", "/bin/sh", "-c", SCRIPT, "jrun-container"));
        command.addAll(other.map(beside -> List.of(Kind.BESIDE.name(), beside.base()))
                .orElse(List.of(image.kind().name(), image.path().toString())));
        command.addAll(List.of(base.toString(), tools.mount(), tools.setpriv()));
        command.addAll(List.of(
                image.squashfuse(),
                named.map(root -> root.folder().toString()).orElse(""),
                tools.flock(),
                account.isRoot() ? "" : ",userxattr",
                namespaces.contains(UnsharedNamespace.NET)
                        ? HostTools.locate("ip", "iproute2", node.environment())
                        : "",
                shared.text(),
                tools.umount()));
        try {
            Process shell =
                    new ProcessBuilder(command).directory(Path.of("/").toFile()).start();
            NamespaceHolder holder =
                    new NamespaceHolder(shell, shell.pid(), base, named.isPresent(), namespaces, Optional.empty());
            try {
                return holder.isReady(shell, image.path(), account, other) ? Optional.of(holder) : Optional.empty();
            } catch (InterruptedException e) {
                holder.close();
                throw e;
            }
        } catch (IOException e) {
            throw new ContainerException("the container of " + image.path() + " cannot be made: " + e.getMessage(), e);
        }
    }

    /** Waits for the mount. Returns false, and ends the shell, if another job holds the lock or has ended. */
    private boolean isReady(Process shell, Path image, Account account, Optional<NamespaceHolder> other)
            throws ContainerException, InterruptedException {
        Thread collector =
                Thread.ofPlatform().daemon().name("jrun-container-errors").start(() -> collectErrors(shell));
        CompletableFuture<String> line = new CompletableFuture<>();
        Thread.ofPlatform().daemon().name("jrun-container-ready").start(() -> {
            try (BufferedReader out = shell.inputReader(StandardCharsets.UTF_8)) {
                line.complete(String.valueOf(out.readLine()));
            } catch (IOException e) {
                line.completeExceptionally(e);
            }
        });
        try {
            String answer = line.get(READY_SECONDS, TimeUnit.SECONDS);
            if (answer.equals("ready")) {
                return true;
            }
            shell.waitFor(CLOSE_SECONDS, TimeUnit.SECONDS);
            if (answer.equals("taken")
                    || other.filter(beside -> !beside.isMounted()).isPresent()) {
                close();
                return false;
            }
        } catch (ExecutionException | TimeoutException e) {
            addError("no answer within " + READY_SECONDS + " s");
        }
        close();
        collector.join(Duration.ofSeconds(1)); // a process that was left behind may hold the pipe for ever
        throw new ContainerException(MountFailure.sentence(image, account, errors()));
    }

    private boolean isMounted() {
        return Files.isDirectory(view(named ? "/named" : "/image"));
    }

    private void collectErrors(Process shell) {
        try (BufferedReader err = shell.errorReader(StandardCharsets.UTF_8)) {
            for (String line = err.readLine(); line != null; line = err.readLine()) {
                addError(line);
            }
        } catch (IOException e) {
            addError(e.toString());
        }
    }

    private synchronized void addError(String line) {
        if (errors.size() < MAX_LINES) {
            errors.add(line.strip());
        }
    }

    private synchronized List<String> errors() {
        return List.copyOf(errors);
    }

    long pid() {
        return pid;
    }

    /** The namespaces of net, ipc and uts that the workers do not share with the node. */
    List<UnsharedNamespace> namespaces() {
        return namespaces;
    }

    /** The mounts of the job that has made the container; empty if this job has made it. */
    Optional<SharedMounts> shared() {
        return shared;
    }

    /** Whether all workers share one writable root, at {@code /named}. */
    boolean isNamed() {
        return named;
    }

    /** The path by which the agent sees a path of the namespace. */
    Path view(String path) {
        return Path.of("/proc/" + pid + "/root" + base + path);
    }

    /** The path by which processes of the namespace see the namespace's own file system. */
    String base() {
        return base.toString();
    }

    /** Closes the pipe, waits at most 5 s for the shell, and removes the empty folder. */
    @Override
    public void close() {
        if (shell == null) {
            return;
        }
        endShell(shell);
        try {
            Files.deleteIfExists(base);
        } catch (IOException e) {
            // The guard removes the folder with its parent folder.
        }
    }

    private static void endShell(Process shell) {
        try {
            shell.getOutputStream().close();
            if (!shell.waitFor(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                shell.destroyForcibly();
            }
        } catch (IOException e) {
            shell.destroyForcibly();
        } catch (InterruptedException e) {
            shell.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
