package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerMount;
import io.jrun.agent.container.ContainerSpec;
import java.util.ArrayList;
import java.util.List;

/**
 * The mounts of the job that has made a container. Jobs that join the container see the same mounts, also
 * the same /tmp.
 *
 * @param temporary the folder of /tmp in the namespace's own file system; empty if each job has its own
 * @param mounts the user's mounts
 */
record SharedMounts(String temporary, List<ContainerMount> mounts) {
    SharedMounts {
        mounts = List.copyOf(mounts);
    }

    /** The mounts of a job that makes a container. */
    static SharedMounts of(ContainerSpec spec, Account account, String temporary) {
        List<ContainerMount> mounts = new ArrayList<>();
        if (spec.mountHome()) {
            mounts.add(new ContainerMount(
                    ContainerMount.Kind.BIND, account.home(), account.homeInside(spec.remapRoot()), List.of()));
        }
        mounts.addAll(spec.mounts());
        return new SharedMounts(temporary, mounts);
    }

    /** Reads the lines of {@link #text}. */
    static SharedMounts read(List<String> lines) {
        List<ContainerMount> mounts = new ArrayList<>();
        lines.stream()
                .skip(1)
                .filter(line -> !line.isEmpty())
                .forEach(line -> mounts.addAll(ContainerMount.parseAll(line)));
        return new SharedMounts(lines.isEmpty() ? "" : lines.getFirst(), mounts);
    }

    /** One line for the folder of /tmp, and one for each mount whose source exists. */
    String text() {
        StringBuilder text = new StringBuilder(temporary).append('\n');
        mounts.stream()
                .map(ContainerMount::text)
                .filter(mount -> mount.indexOf('\n') < 0 && mount.indexOf(',') < 0)
                .forEach(mount -> text.append(mount).append('\n'));
        return text.toString();
    }

    /** The mounts of a job that joins: the mounts of the container, and the job's own over these. */
    ContainerSpec joined(ContainerSpec spec) {
        List<ContainerMount> all = new ArrayList<>(mounts);
        all.addAll(spec.mounts());
        return spec.withMounts(all);
    }
}
