package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.agent.container.WorkerRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The command of a worker: nsenter, unshare, and a shell that makes all mounts. Each program executes the next program
 * in the same process, so the pid stays the same and signals reach the worker's program. The last words start the
 * program in the root folder. {@link ChangeRoot} or a {@link RootEntry} makes these words.
 */
final class EnterCommand {
    private static final String SCRIPT = """
            mount=$1 fstab=$2 root=$3 move=$4 umount=$5 net=$6 gpu=$7 ldconfig=$8 options=$9
            shift 9
            fail() {
              echo "jrun: the container of this worker cannot be made: $1" >&2
              exit 125
            }
            if [ "$net" ]; then # the kernel refuses a new /sys where the node hides parts of its /sys
              sys=${fstab%/*}/sys
              "$mount" -n -t sysfs -o nosuid,nodev,noexec jrun "$sys" 2>/dev/null || "$mount" -n --rbind /sys "$sys" ||
                fail '/sys cannot be mounted'
            fi
            "$mount" -n -a -T "$fstab" || fail 'a mount failed'
            while [ "$1" != -- ]; do
              "$umount" -n -l -- "$root$1" || fail "$1 cannot be unmounted"
              while "$umount" -n -l -- "$root$1" 2>/dev/null; do :; done # several may lie upon each other
              shift
            done
            shift
            [ -z "$gpu" ] || "$gpu" --user configure --no-cgroups --ldconfig=@"$ldconfig" $options "$root" ||
              fail 'nvidia-container-cli has failed'
            cd "$root" || fail 'its root cannot be entered'
            [ -z "$move" ] || "$mount" -n --move . / || fail 'its root cannot be moved'
            exec "$@"
            """;

    private final HostTools tools;
    private final Account account;
    private final ContainerSpec spec;
    private final NodeRequest node;
    private final Optional<RootEntry> entry;

    EnterCommand(HostTools tools, Account account, ContainerSpec spec, NodeRequest node, Optional<RootEntry> entry) {
        this.tools = tools;
        this.account = account;
        this.spec = spec;
        this.node = node;
        this.entry = entry;
    }

    /**
     * Returns the command of a worker.
     *
     * @param folder of the worker in the namespace
     * @param unmounted mount points that are unmounted after all mounts
     * @param driver of GPUs, that nvidia-container-cli mounts; empty for none
     */
    List<String> words(
            NamespaceHolder holder,
            String folder,
            List<String> unmounted,
            Optional<NvidiaDriver> driver,
            WorkerRequest worker)
            throws ContainerException {
        ChangeRoot change = new ChangeRoot(tools, account, spec.remapRoot(), spec.unshare());
        String root = holder.base() + "/root";
        List<String> words = new ArrayList<>(enter(tools, account, holder));
        words.addAll(List.of(tools.unshare(), "--mount", "--propagation", "unchanged"));
        words.addAll(List.of("--"));
        words.addAll(Shell.EXACT);
        words.addAll(List.of(SCRIPT, "jrun-container", tools.mount(), folder + "/fstab", root));
        words.addAll(List.of(
                entry.isEmpty() && change.moves() ? "move" : "",
                tools.umount(),
                holder.namespaces().contains(UnsharedNamespace.NET) ? "net" : ""));
        words.addAll(gpuTool(driver, node.environment()));
        words.addAll(unmounted);
        words.add("--");
        if (entry.isEmpty()) {
            words.addAll(change.words(worker));
        } else {
            words.addAll(entry.get().words(new RootEntry.PreparedRoot(root, folder + "/engine", spec), worker, node));
        }
        return words;
    }

    /** Returns the beginning of a command. The command that follows runs in the namespaces of the image. */
    static List<String> enter(HostTools tools, Account account, NamespaceHolder holder) {
        return enter(tools, account, holder, holder.namespaces());
    }

    /** As {@link #enter}, but the command that follows stays in the node's namespaces of net, ipc and uts. */
    static List<String> enterMounts(HostTools tools, Account account, NamespaceHolder holder) {
        return enter(tools, account, holder, List.of());
    }

    private static List<String> enter(
            HostTools tools, Account account, NamespaceHolder holder, List<UnsharedNamespace> entered) {
        String namespaces = "/proc/" + holder.pid() + "/ns/";
        List<String> words = new ArrayList<>(List.of(tools.nsenter()));
        if (!account.isRoot()) {
            words.addAll(List.of("--preserve-credentials", "--user=" + namespaces + "user"));
        }
        entered.forEach(each -> words.add("--" + each.word() + "=" + namespaces + each.word()));
        words.addAll(List.of("--mount=" + namespaces + "mnt", "--"));
        return words;
    }

    /** The image has no list of libraries that names the driver's; ldconfig of the node writes the list. */
    private static List<String> gpuTool(Optional<NvidiaDriver> driver, Map<String, String> environment)
            throws ContainerException {
        if (driver.isEmpty()) {
            return List.of("", "", "");
        }
        return List.of(
                HostTools.locate("nvidia-container-cli", "libnvidia-container-tools", environment),
                HostTools.locate("ldconfig", "libc-bin", environment),
                driver.get().toolOptions());
    }
}
