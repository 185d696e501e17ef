package io.jrun.agent.container.external;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.WorkerRequest;
import io.jrun.agent.container.builtin.HostTools;
import io.jrun.agent.container.builtin.RootEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Starts a program with {@code enroot start}. The root folder is the container with the name root in a data folder of
 * Enroot. Enroot's hooks run. Source: the documentation of Enroot 4.1, cmd/start.md. Stateless.
 */
final class EnrootEntry implements RootEntry {
    private static final String PACKAGE = "enroot of github.com/NVIDIA/enroot";

    /**
     * Enroot binds the root without the mounts below, and mounts empty folders at /tmp and /var/run. The script makes a
     * second way to each mount, and a configuration by which Enroot mounts the second way at the same place. Enroot
     * itself mounts /proc, /sys and /dev. Enroot takes no paths with spaces.
     */
    private static final String SCRIPT = """
            mount=$1 root=$2 scratch=$3
            shift 3
            mkdir "$scratch/runtime" && echo "mounts() { cat '$scratch/fstab'; }" > "$scratch/conf" || exit 125
            seen= count=0
            while read -r _ _ _ _ point _; do
              inside=${point#"$root"}
              case $point in "$root"/*) ;; *) continue ;; esac
              case $inside/ in /proc/* | /sys/* | /dev/*) continue ;; esac
              for outer in $seen; do
                case $inside in "$outer" | "$outer"/*) continue 2 ;; esac
              done
              seen="$seen $inside"
              count=$((count + 1))
              copy=$scratch/mount$count
              if [ -d "$point" ]; then mkdir "$copy"; else : > "$copy"; fi
              "$mount" -n --rbind -- "$point" "$copy" || exit 125
              echo "$copy $inside none x-create=auto,rbind" >> "$scratch/fstab"
            done < /proc/self/mountinfo
            exec "$@"
            """;

    /** Enroot takes values of one line only, and no working folder. */
    private static final String INSIDE = """
            while [ "$1" != -- ]; do
              export "$1"
              shift
            done
            shift
            cd -- "$1" || exit 125
            shift
            exec "$@"
            """;

    /** Enroot refuses other names, such as those of exported functions of bash. */
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    @Override
    public void check(NodeRequest node) throws ContainerException {
        HostTools.locate("enroot", PACKAGE, node.environment());
    }

    @Override
    public boolean hasOwnPids() {
        return false;
    }

    @Override
    public boolean mountsGpuDriver() {
        return true;
    }

    /** Enroot writes to the root, and then makes the root read-only. */
    @Override
    public boolean needsWritableRoot() {
        return true;
    }

    @Override
    public List<String> words(PreparedRoot root, WorkerRequest worker, NodeRequest node) throws ContainerException {
        int name = root.folder().lastIndexOf('/');
        List<String> words = new ArrayList<>(List.of("/bin/sh", "-c", SCRIPT, "jrun-enroot"));
        words.addAll(List.of(HostTools.locate("mount", "util-linux", node.environment()), root.folder()));
        words.addAll(List.of(
                root.scratch(),
                HostTools.locate("env", "coreutils", node.environment()),
                HostTools.pathOfNode(node.environment()),
                "ENROOT_DATA_PATH=" + root.folder().substring(0, name),
                "ENROOT_RUNTIME_PATH=" + root.scratch() + "/runtime",
                "ENROOT_LOGIN_SHELL=no",
                "ENROOT_ALLOW_SUPERUSER=yes",
                HostTools.locate("enroot", PACKAGE, node.environment()),
                "start"));
        if (root.spec().remapRoot()) {
            words.add("--root");
        }
        if (root.spec().writable()) {
            words.add("--rw");
        }
        words.addAll(List.of("--conf", root.scratch() + "/conf"));
        Map<String, String> variables = new TreeMap<>(worker.environment());
        variables.putAll(worker.lateEnvironment());
        variables.keySet().removeIf(variable -> !NAME.matcher(variable).matches());
        List<String> exported = new ArrayList<>();
        variables.forEach((variable, value) -> {
            String word = variable + "=" + value;
            if (value.indexOf('\n') < 0) {
                words.addAll(List.of("--env", word));
            } else {
                exported.add(word);
            }
        });
        words.add(root.folder().substring(name + 1));
        words.addAll(List.of("/bin/sh", "-c", INSIDE, "jrun"));
        words.addAll(exported);
        words.addAll(List.of("--", worker.workdir()));
        words.addAll(worker.command());
        return words;
    }
}
