package io.jrun.agent.container.external;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.agent.container.WorkerRequest;
import io.jrun.agent.container.builtin.HostTools;
import io.jrun.agent.container.builtin.RootEntry;
import io.jrun.agent.container.builtin.Shell;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * Starts a program with {@code podman run --rootfs}. The state of podman lies in the scratch folder of the worker, so
 * the state ends with the mount namespace of the job. The container stays in the cgroup of the agent, so the limits of
 * a Slurm step hold. podman gives the container PIDs of its own. crun is the one runtime of podman that works without a
 * cgroup of its own; crun needs cgroup v2 at /sys/fs/cgroup. Source: podman-run(1), version 4.3. Stateless.
 */
final class PodmanEntry implements RootEntry {
    /**
     * Passes the limits of open files and processes, because podman's defaults exceed the hard limits of many nodes.
     * podman reduces its own limit of processes to pid_max.
     */
    private static final String SCRIPT = """
            podman=$1 mount=$3
            "$mount" -n --bind -- "$2" "$4" || exit 125
            scratch=$4
            shift 4
            mkdir "$scratch/s" "$scratch/r" "$scratch/t" "$scratch/h" || exit 125
            printf '[engine]\\nlock_type="file"\\n' > "$scratch/h/containers.conf" || exit 125
            if [ -d /sys/fs/cgroup/unified ]; then
              "$mount" -n --rbind /sys/fs/cgroup/unified /sys/fs/cgroup || exit 125
            fi
            export HOME="$scratch/h" XDG_RUNTIME_DIR="$scratch/t" _CONTAINERS_USERNS_CONFIGURED=done
            export CONTAINERS_CONF="$scratch/h/containers.conf"
            hard() {
              value=$(sed -n "s/^Max $1  *[^ ]*  *\\([^ ]*\\) .*/\\1/p" /proc/self/limits)
              [ "$value" != unlimited ] && [ "$value" -lt "$2" ] || value=$2
            }
            hard 'open files' 1048576
            files=$value
            hard processes "$(cat /proc/sys/kernel/pid_max)"
            processes=$value
            exec "$podman" --root="$scratch/s" --runroot="$scratch/r" --tmpdir="$scratch/t" \\
              --runtime=crun --runtime-flag=root="$scratch/t/crun" --cgroup-manager=cgroupfs --events-backend=none \\
              run --ulimit=nofile="$files:$files" --ulimit=nproc="$processes:$processes" "$@"
            """;

    /** Variables that the commands of podman read; the program gets the values of the worker. */
    private static final List<String> OF_PODMAN = List.of("HOME", "XDG_RUNTIME_DIR");

    @Override
    public void check(NodeRequest node) throws ContainerException {
        HostTools.locate("podman", "podman", node.environment());
        HostTools.locate("crun", "crun", node.environment());
        HostTools.locate("conmon", "conmon", node.environment());
    }

    @Override
    public boolean hasOwnPids() {
        return true;
    }

    @Override
    public boolean mountsGpuDriver() {
        return false;
    }

    @Override
    public boolean needsWritableRoot() {
        return false;
    }

    @Override
    public List<String> words(PreparedRoot root, WorkerRequest worker, NodeRequest node) throws ContainerException {
        List<String> words = new ArrayList<>(Shell.EXACT);
        words.addAll(List.of(SCRIPT, "jrun-podman"));
        words.add(HostTools.locate("podman", "podman", node.environment()));
        words.add(root.scratch());
        words.add(HostTools.locate("mount", "util-linux", node.environment()));
        words.add(root.folder().startsWith("/mnt/") ? "/media" : "/mnt"); // podman takes 50 characters at most
        words.addAll(List.of("--rm", "--log-driver=none", "--cgroups=disabled", "--network=host", "--no-hosts"));
        words.addAll(List.of("--privileged", "--security-opt=label=disable", "--workdir=" + worker.workdir()));
        if (!root.spec().unshare().contains(UnsharedNamespace.IPC)) {
            words.add("--volume=/dev/shm:/dev/shm");
        }
        if (!root.spec().writable()) {
            words.addAll(List.of("--read-only", "--read-only-tmpfs=false"));
        }
        for (String name : new TreeSet<>(worker.environment().keySet())) {
            words.add("--env=" + name
                    + (OF_PODMAN.contains(name) ? "=" + worker.environment().get(name) : ""));
        }
        worker.lateEnvironment().forEach((name, value) -> words.add("--env=" + name + "=" + value));
        words.addAll(List.of("--rootfs", root.folder()));
        words.addAll(worker.command());
        return words;
    }
}
