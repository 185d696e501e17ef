package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.agent.container.WorkerRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The words that become a worker: nsenter, unshare and a shell, each of which replaces itself by the next, so that the pid stays and
 * signals reach the program. The last one, unshare, changes the root and starts the program, so that the image needs no tool.
 *
 * <p>An ordinary user ends in a user namespace inside the one that owns the mounts, and can take no mount away. Without a user
 * namespace of its own, root (the node's, or the one that --container-remap-root makes) could climb out of a changed root;
 * the container's root is therefore moved over the namespace's root first, and nothing is left to climb to.
 */
final class EnterCommand {
    private static final String SCRIPT = """
            mount=$1 fstab=$2 root=$3 move=$4 umount=$5 ip=$6
            shift 6
            fail() {
              echo "jrun: the container of this worker cannot be made: $1" >&2
              exit 125
            }
            "$mount" -n -a -T "$fstab" || fail 'a mount failed'
            while [ "$1" != -- ]; do
              "$umount" -n -l -- "$root$1" || fail "$1 cannot be unmounted"
              while "$umount" -n -l -- "$root$1" 2>/dev/null; do :; done # several may lie upon each other
              shift
            done
            shift
            [ -z "$ip" ] || "$ip" link set lo up || fail 'its network has no loopback'
            cd "$root" || fail 'its root cannot be entered'
            [ -z "$move" ] || "$mount" -n --move . / || fail 'its root cannot be moved'
            exec "$@"
            """;

    /** With these, root of the container's user namespace could undo mounts, or look at the processes that made them. */
    private static final String LOST = "-sys_admin,-sys_ptrace";

    private final HostTools tools;
    private final Account account;
    private final ContainerSpec spec;
    private final long holder;
    private final String base;

    EnterCommand(HostTools tools, Account account, ContainerSpec spec, long holder, String base) {
        this.tools = tools;
        this.account = account;
        this.spec = spec;
        this.holder = holder;
        this.base = base;
    }

    List<String> words(String fstab, List<String> unmounted, WorkerRequest worker, Map<String, String> environment)
            throws ContainerException {
        boolean moves = account.isRoot() || spec.remapRoot();
        List<String> words = new ArrayList<>(enter());
        words.addAll(List.of("/bin/sh", "-c", SCRIPT, "jrun-container", tools.mount(), fstab, base + "/root"));
        words.addAll(List.of(moves ? "move" : "", tools.umount(), loopbackTool(environment)));
        words.addAll(unmounted);
        words.add("--");
        if (!worker.lateEnvironment().isEmpty()) {
            words.add(tools.env());
            worker.lateEnvironment().forEach((name, value) -> words.add(name + "=" + value));
        }
        words.addAll(changeRoot(moves));
        words.add("--wd=" + worker.workdir());
        words.add("--");
        words.addAll(worker.command());
        return words;
    }

    private List<String> enter() {
        String namespaces = "/proc/" + holder + "/ns/";
        List<String> words = new ArrayList<>(List.of(tools.nsenter()));
        if (!account.isRoot()) {
            words.addAll(List.of("--preserve-credentials", "--user=" + namespaces + "user"));
        }
        words.addAll(List.of("--mount=" + namespaces + "mnt", "--"));
        words.addAll(List.of(tools.unshare(), "--mount", "--propagation", "unchanged"));
        spec.unshare().forEach(namespace -> words.add("--" + namespace.word()));
        words.add("--");
        return words;
    }

    private List<String> changeRoot(boolean moves) {
        List<String> words = new ArrayList<>();
        if (moves && !account.isRoot()) {
            words.addAll(List.of(tools.setpriv(), "--bounding-set=" + LOST));
        }
        words.add(tools.unshare());
        if (!moves) {
            words.addAll(List.of("--user", "--map-user=" + account.uid(), "--map-group=" + account.gid()));
        }
        words.add("--root=.");
        return words;
    }

    private String loopbackTool(Map<String, String> environment) throws ContainerException {
        return spec.unshare().contains(UnsharedNamespace.NET) ? HostTools.locate("ip", "iproute2", environment) : "";
    }
}
