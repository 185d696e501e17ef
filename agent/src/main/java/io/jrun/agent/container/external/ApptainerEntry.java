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

/**
 * Starts a program with {@code apptainer exec}. The root folder is a sandbox of Apptainer. Apptainer makes no mounts of
 * its own in the sandbox. Source: the user guide of Apptainer 1.3, environment and metadata. Stateless.
 */
final class ApptainerEntry implements RootEntry {
    @Override
    public void check(NodeRequest node) throws ContainerException {
        HostTools.locate("apptainer", "apptainer of apptainer.org", node.environment());
    }

    @Override
    public boolean hasOwnPids() {
        return false;
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
        List<String> words = new ArrayList<>(List.of(
                HostTools.locate("env", "coreutils", node.environment()), HostTools.pathOfNode(node.environment())));
        Map<String, String> late = new TreeMap<>(worker.lateEnvironment());
        late.put("PATH", worker.searchPath());
        late.forEach((name, value) -> words.add("APPTAINERENV_" + name + "=" + value));
        words.addAll(List.of(
                HostTools.locate("apptainer", "apptainer of apptainer.org", node.environment()),
                "--silent",
                "exec",
                "--no-home",
                "--no-mount=bind-paths,devpts,hostfs,tmp,cwd",
                "--no-umask",
                "--pwd=" + worker.workdir()));
        if (root.spec().writable()) {
            words.add("--writable");
        }
        words.add(root.folder());
        words.addAll(worker.command());
        return words;
    }
}
