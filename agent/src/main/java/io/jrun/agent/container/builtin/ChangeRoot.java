package io.jrun.agent.container.builtin;

import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.agent.container.WorkerRequest;
import java.util.ArrayList;
import java.util.List;

/**
 * Changes the root with unshare(1), which then executes the program. The image needs no tool.
 *
 * <p>The program of an ordinary user runs in a user namespace inside the namespace that owns the mounts, and cannot
 * unmount. A second user namespace inside the first maps the user to the user, as /proc/self/uid_map then shows: the
 * file names the ids of the next outer namespace, and the user is root in the namespace that owns the mounts. Root (the node's root, or the root of --container-remap-root) without a user namespace of its own could
 * leave a changed root. For root the command therefore first moves the container's root over the root of the mount
 * namespace.
 *
 * <p>With PIDs of its own, the program is process 2 of a PID namespace. A shell is process 1, because the kernel
 * withholds signals without a handler from process 1. A second shell stays outside. Both shells only wait. A signal to
 * the process group reaches the program and the shells.
 */
final class ChangeRoot {
    /**
     * The dropped capabilities. With these capabilities root of the container's user namespace could unmount, or trace
     * the processes that made the mounts.
     */
    private static final String LOST = "-sys_admin,-sys_ptrace";

    /** The kernel kills process 1 when the shell outside dies, and all processes of the namespace with process 1. */
    private static final String PARENT = """
            script=$1 stage=$2 mount=$3 setpriv=$4 env=$5
            shift 5
            trap : HUP INT QUIT TERM USR1 USR2
            if [ "$stage" = outside ]; then
              set -- /bin/bash -p -c "$script" jrun-init "$script" inside "$mount" "$setpriv" "$env" "$@"
            elif ! "$mount" -n -c -t proc proc ./proc; then
              echo 'jrun: the container of this worker cannot be made: its /proc cannot be mounted' >&2
              exit 125
            fi
            exec 3<&0
            "$setpriv" --pdeathsig KILL "$env" --default-signal=INT,QUIT "$@" <&3 3<&- &
            child=$!
            exec 3<&-
            while :; do
              wait "$child"
              code=$?
              kill -s 0 "$child" 2>/dev/null || exit "$code"
            done
            """;

    private final HostTools tools;
    private final Account account;
    private final boolean remapRoot;
    private final boolean ownPids;

    ChangeRoot(HostTools tools, Account account, boolean remapRoot, List<UnsharedNamespace> unshare) {
        this.tools = tools;
        this.account = account;
        this.remapRoot = remapRoot;
        this.ownPids = unshare.contains(UnsharedNamespace.PID);
    }

    /** Whether the root folder must be moved over the root of the mount namespace. */
    boolean moves() {
        return account.isRoot() || remapRoot;
    }

    /** Returns the command. The command starts in the root folder. */
    List<String> words(WorkerRequest worker) {
        List<String> words = new ArrayList<>();
        if (ownPids) {
            words.addAll(List.of(tools.unshare(), "--pid", "--"));
            words.addAll(Shell.EXACT);
            words.addAll(List.of(PARENT, "jrun-pids", PARENT, "outside"));
            words.addAll(List.of(tools.mount(), tools.setpriv(), tools.env()));
        }
        if (!worker.lateEnvironment().isEmpty()) {
            words.add(tools.env());
            worker.lateEnvironment().forEach((name, value) -> words.add(name + "=" + value));
        }
        if (moves() && !account.isRoot()) {
            words.addAll(List.of(tools.setpriv(), "--bounding-set=" + LOST));
        }
        words.add(tools.unshare());
        if (!moves()) {
            List<String> user = List.of("--user", "--map-user=" + account.uid(), "--map-group=" + account.gid());
            words.addAll(user);
            words.addAll(List.of("--", tools.unshare()));
            words.addAll(user);
        }
        words.addAll(List.of("--root=.", "--wd=" + worker.workdir(), "--"));
        words.addAll(worker.command());
        return words;
    }
}
