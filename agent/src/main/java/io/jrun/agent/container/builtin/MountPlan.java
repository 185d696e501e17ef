package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerMount;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.HostFolder;
import io.jrun.agent.container.MountFlags;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The mounts of one worker, in order: the overlay, the node's /proc, /sys and /dev, a folder of the worker's own at
 * /run, a folder of the job at /tmp, the user's mounts, and the files of jrun. Makes each mount point before the mount.
 * Confined to one thread.
 */
final class MountPlan {
    private static final String SYS = "/sys";
    private static final Path CGROUPS = Path.of("/sys/fs/cgroup");
    private static final List<String> NODE_FOLDERS = List.of("/proc", SYS, "/dev");
    private static final List<String> READ_ONLY = List.of("ro");

    private final ContainerRoot root;
    private final String base;
    private final String folder;
    private final Path view;
    private final NodeMounts nodeMounts;
    private final FstabFile fstab = new FstabFile();
    private final List<String> unmounted = new ArrayList<>();
    private int copies;

    /**
     * A plan without mounts.
     *
     * @param base the folder of the namespace's own file system
     * @param folder the folder of the worker in {@code base}
     * @param view the path by which the agent sees {@code folder}
     */
    MountPlan(ContainerRoot root, String base, String folder, Path view, NodeMounts nodeMounts) {
        this.root = root;
        this.base = base;
        this.folder = folder;
        this.view = view;
        this.nodeMounts = nodeMounts;
    }

    ContainerRoot root() {
        return root;
    }

    String fstab() {
        return fstab.text();
    }

    /** The paths inside the container of mounts of the node that the worker must not see. */
    List<String> unmounted() {
        return unmounted;
    }

    /**
     * Mounts the root: the worker's own layer over the mount points and the image.
     *
     * @param points the folder with the mount points, in {@code base}
     */
    void overlay(String points, boolean writable, boolean userXattr) {
        overlay(points + ":" + base + "/image", writable ? folder : "", "", userXattr);
    }

    /** Mounts the root that all workers share. */
    void named(boolean writable) {
        fstab.add(
                base + "/named",
                base + "/root",
                "none",
                writable ? List.of("bind") : List.of("bind", "ro", "nosuid", "nodev"));
    }

    private void overlay(String lower, String layer, String inside, boolean userXattr) {
        List<String> options = new ArrayList<>(List.of("lowerdir=" + lower));
        if (!layer.isEmpty()) {
            options.add("upperdir=" + layer + "/upper");
            options.add("workdir=" + layer + "/work");
        }
        options.addAll(List.of("nosuid", "nodev"));
        if (userXattr) {
            options.add("userxattr");
        }
        fstab.add("jrun", base + "/root" + inside, "overlay", options);
    }

    /**
     * Mounts the folders of the system.
     *
     * @param ownNetwork whether the worker has a network of its own, so that {@link EnterCommand} mounts a /sys of this
     *     network in the folder of the worker
     */
    void system(boolean ownNetwork) throws ContainerException {
        for (String path : NODE_FOLDERS) {
            String inside = root.resolve(path, false);
            root.mount(inside, Path.of(path), true, false);
            boolean own = ownNetwork && path.equals(SYS);
            fstab.add(own ? folder + SYS : path, base + "/root" + inside, "none", List.of("rbind"));
            if (own && nodeMounts.has(CGROUPS)) { // The JVM reads the limits of its cgroup.
                Path below = Path.of(SYS).relativize(CGROUPS);
                fstab.add(CGROUPS.toString(), base + "/root" + inside + "/" + below, "none", List.of("rbind"));
            }
        }
        bindFolder("/run", folder + "/run", view.resolve("run"));
    }

    /**
     * Mounts the folder of /tmp.
     *
     * @param shared the folder, which all workers of the job on this node see
     */
    void temporary(String shared, Path sharedView) throws ContainerException {
        bindFolder("/tmp", shared, sharedView);
    }

    private void bindFolder(String path, String source, Path sourceView) throws ContainerException {
        String inside = root.resolve(path, false);
        root.mount(inside, sourceView, true, true);
        fstab.add(source, base + "/root" + inside, "none", List.of("bind"));
    }

    void user(ContainerSpec spec, Account account) throws ContainerException {
        if (spec.mountHome()) {
            if (!Files.isDirectory(Path.of(account.home()))) {
                throw new ContainerException("--container-mount-home: the home folder " + account.home()
                        + " does not exist on this node; make the folder, or leave the option out");
            }
            bind(Path.of(account.home()), account.homeInside(spec.remapRoot()), List.of());
        }
        for (ContainerMount mount : spec.mounts()) {
            switch (mount.kind()) {
                case BIND -> bind(mount);
                case TMPFS -> tmpfs(mount);
                case UMOUNT -> unmount(mount, account);
            }
        }
    }

    private void bind(ContainerMount mount) throws ContainerException {
        Path source = Path.of(mount.source());
        if (!Files.exists(source)) {
            if (mount.has("nofail")) {
                return;
            }
            throw new ContainerException("--container-mounts: the source path does not exist on this node, or its user"
                    + " cannot see the path: " + source + "; make the path, or add the flag nofail");
        }
        boolean directory = Files.isDirectory(source);
        if (mount.has(directory ? "x-create=file" : "x-create=dir")) {
            throw new ContainerException("--container-mounts: " + mount.text() + ": " + source + " is a "
                    + (directory ? "folder" : "file") + "; omit x-create");
        }
        if (mount.has("x-create=none") && !Files.exists(root.find(mount.target()))) {
            throw new ContainerException("--container-mounts: " + mount.text() + ": the image has no " + mount.target()
                    + ", and x-create=none forbids jrun to make the path");
        }
        bind(source, mount.target(), MountFlags.ofMount(mount.flags()));
    }

    /**
     * @param flags flags of mount(8), in addition to the flags of the source's mount
     */
    private void bind(Path given, String target, List<String> flags) throws ContainerException {
        Path source = real(given);
        String inside = root.resolve(target, true);
        boolean writable = !flags.contains("ro") && Files.isWritable(source);
        root.mount(inside, source, Files.isDirectory(source), writable);
        add(source, inside, flags);
        if (flags.contains("ro")) {
            for (Path below : nodeMounts.below(source)) { // The flags of a mount do not hold for the mounts below.
                add(source.resolve(below), inside + "/" + below, flags);
            }
        }
    }

    private void add(Path source, String inside, List<String> flags) {
        Set<String> options = new LinkedHashSet<>(List.of("rbind"));
        if (!flags.isEmpty()) {
            options.addAll(nodeMounts.flagsOf(source));
            options.addAll(flags);
        }
        fstab.add(source.toString(), base + "/root" + inside, "none", List.copyOf(options));
    }

    private static Path real(Path source) throws ContainerException {
        try {
            return source.toRealPath();
        } catch (IOException e) {
            throw new ContainerException(source + " cannot be mounted: " + e.getMessage(), e);
        }
    }

    private void tmpfs(ContainerMount mount) throws ContainerException {
        String inside = root.resolve(mount.target(), true);
        root.mount(inside, Path.of(base, "empty"), true, false);
        List<String> options = new ArrayList<>(List.of("nosuid", "nodev"));
        options.addAll(MountFlags.ofMount(mount.flags()));
        fstab.add("tmpfs", base + "/root" + inside, "tmpfs", options);
    }

    private void unmount(ContainerMount mount, Account account) throws ContainerException {
        String inside = root.resolve(mount.target(), true);
        if (root.unmount(inside)) {
            fstab.remove(base + "/root" + inside);
            return;
        }
        if (!nodeMounts.has(root.locate(inside))) {
            throw new ContainerException("--container-mounts: " + mount.text()
                    + ": nothing is mounted at this path inside the container; omit the entry");
        }
        if (!account.isRoot()) {
            throw new ContainerException("--container-mounts: " + mount.text()
                    + ": only root can unmount a mount that came with another mount; omit the entry");
        }
        unmounted.add(inside);
    }

    /** Mounts a file or folder under its own path, unless a mount of the user already has the path inside. */
    void needed(HostFolder needed, boolean userXattr) throws ContainerException {
        if (isInside(needed)) {
            return;
        }
        String target = needed.inside().toString();
        switch (needed.access()) {
            case READ -> bind(needed.path(), target, READ_ONLY);
            case WRITE -> bind(needed.path(), target, List.of());
            case WRITE_COPY -> copy(needed.path(), target, userXattr);
        }
    }

    /** Mounts the libraries and programs of a GPU driver where the programs of the image look for them. */
    void driver(List<HostFolder> files) throws ContainerException {
        for (HostFolder file : files) {
            bind(file.path(), file.inside().toString(), READ_ONLY);
        }
    }

    private void copy(Path source, String target, boolean userXattr) throws ContainerException {
        String inside = root.resolve(target, true);
        root.mount(inside, source, true, false);
        String name = "/copy-" + copies++;
        BuiltinContainers.makeFolders(view.resolve(name.substring(1)), "", "upper", "work");
        overlay(source.toString(), folder + name, inside, userXattr);
    }

    private boolean isInside(HostFolder needed) throws ContainerException {
        Path found = root.find(needed.inside().toString());
        try {
            return Files.exists(found) && Files.isSameFile(found, needed.path());
        } catch (IOException e) {
            return false;
        }
    }
}
