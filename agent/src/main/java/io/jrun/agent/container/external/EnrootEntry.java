package io.jrun.agent.container.external;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.WorkerRequest;
import io.jrun.agent.container.builtin.HostTools;
import io.jrun.agent.container.builtin.RootEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * Starts a program with {@code enroot start}. The root folder is the container with the name root in a data folder of
 * Enroot. Enroot's hooks run. Source: the documentation of Enroot 4.1, cmd/start.md. Stateless.
 */
final class EnrootEntry implements RootEntry {
    @Override
    public void check(NodeRequest node) throws ContainerException {
        HostTools.locate("enroot", "enroot of github.com/NVIDIA/enroot", node.environment());
    }

    @Override
    public boolean hasOwnPids() {
        return false;
    }

    @Override
    public boolean mountsGpuDriver() {
        return true;
    }

    @Override
    public List<String> words(PreparedRoot root, WorkerRequest worker, NodeRequest node) throws ContainerException {
        int name = root.folder().lastIndexOf('/');
        List<String> words = new ArrayList<>(List.of(
                HostTools.locate("env", "coreutils", node.environment()),
                "ENROOT_DATA_PATH=" + root.folder().substring(0, name),
                "ENROOT_RUNTIME_PATH=" + root.scratch(),
                "ENROOT_LOGIN_SHELL=no",
                "ENROOT_ALLOW_SUPERUSER=yes",
                HostTools.locate("enroot", "enroot of github.com/NVIDIA/enroot", node.environment()),
                "start"));
        if (root.spec().remapRoot()) {
            words.add("--root");
        }
        if (root.spec().writable()) {
            words.add("--rw");
        }
        for (String variable : new TreeSet<>(worker.environment().keySet())) {
            words.addAll(List.of("--env", variable + "=" + worker.environment().get(variable)));
        }
        worker.lateEnvironment().forEach((variable, value) -> words.addAll(List.of("--env", variable + "=" + value)));
        words.add(root.folder().substring(name + 1));
        words.addAll(List.of("/bin/sh", "-c", "cd -- \"$1\" && shift && exec \"$@\"", "jrun", worker.workdir()));
        words.addAll(worker.command());
        return words;
    }
}
