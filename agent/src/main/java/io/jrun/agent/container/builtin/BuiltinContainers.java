package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.HostFolder;
import io.jrun.agent.container.ImageSettings;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.agent.container.WorkerRequest;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The containers of one job on this node. Confined to one thread. */
final class BuiltinContainers implements NodeContainers {
    private static final int STICKY = 01777;

    /**
     * The id of a plan that no worker uses. By this plan jrun looks at files and tests the mounts before any worker
     * starts.
     */
    private static final String PLAN_ONLY = "plan";

    private final ContainerSpec spec;
    private final NodeRequest node;
    private final HostTools tools;
    private final Account account;
    private final NamespaceHolder holder;
    private final Optional<RootEntry> entry;
    private final String job;
    private final MountPointLayer layer;
    private final ImageSettings image;
    private final MountPlan plan;
    private final List<HostFolder> needed = new ArrayList<>();

    private BuiltinContainers(
            ContainerSpec spec,
            NodeRequest node,
            HostTools tools,
            Account account,
            NamespaceHolder holder,
            Optional<RootEntry> entry)
            throws ContainerException {
        this.spec = holder.shared().map(shared -> shared.joined(spec)).orElse(spec);
        this.node = node;
        this.tools = tools;
        this.account = account;
        this.holder = holder;
        this.entry = entry;
        this.job = job(node);
        if (isOwnTemporary()) {
            makeFolders(holder.view(temporary()), "");
            setMode(holder.view(temporary()), STICKY);
        }
        if (hasOwnPoints()) {
            makeFolders(holder.view(points()), "");
        }
        this.layer = new MountPointLayer(holder.isNamed() ? root() : holder.view(points()));
        ContainerRoot bare = bareRoot();
        this.image = ImageReader.read(bare);
        Account inside = spec.remapRoot() ? new Account(0, 0, "root", "root", Account.HOME_OF_ROOT) : account;
        AccountFiles.write(bare, layer, root(), inside, spec.remapRoot() && !account.isRoot());
        String home = bare.resolve(inside.home(), true);
        Path seen = bare.locate(home);
        if (!home.isEmpty() && (Files.isDirectory(seen) || !Files.exists(seen, LinkOption.NOFOLLOW_LINKS))) {
            bare.mount(home, holder.view("/none"), true, false); // The folder is empty if the image has none.
        }
        this.plan = plan(PLAN_ONLY);
        if (!holder.isNamed() && holder.shared().isEmpty()) {
            SharedMounts shared = SharedMounts.of(spec, account, temporary());
            RunningContainers.of(node).add(node.jobNames(), holder, shared);
        }
    }

    static BuiltinContainers prepare(
            ContainerSpec spec,
            NodeRequest node,
            HostTools tools,
            Account account,
            NamespaceHolder holder,
            Optional<RootEntry> entry)
            throws ContainerException {
        return new BuiltinContainers(spec, node, tools, account, holder, entry);
    }

    private ContainerRoot bareRoot() {
        return new ContainerRoot(root(), layer);
    }

    /** The path by which the agent sees the tree below the layers of workers. */
    private Path root() {
        return holder.view(holder.isNamed() ? "/named" : "/image");
    }

    /** The folder of a worker, below the folder of the namespace. Two jobs may share a namespace. */
    private String folder(String id) {
        return "/workers/" + job + id;
    }

    private static String job(NodeRequest node) {
        return node.scratch().resolve("..").normalize().getFileName() + "-";
    }

    /** The folder of /tmp of a job that makes a container. */
    static String temporary(NodeRequest node) {
        return "/workers/" + job(node) + "tmp";
    }

    /** The folder of /tmp, which the workers of the job on this node share, and the jobs that join its container. */
    private String temporary() {
        return isOwnTemporary()
                ? temporary(node)
                : holder.shared().orElseThrow().temporary();
    }

    /** The folder of the layer with the mount points. A layer of mounted workers must not change. */
    private String points() {
        return hasOwnPoints() ? folder("points") : "/points";
    }

    private boolean hasOwnPoints() {
        return !holder.isNamed() && holder.shared().isPresent();
    }

    private boolean isOwnTemporary() {
        return holder.shared().filter(shared -> !shared.temporary().isEmpty()).isEmpty();
    }

    private MountPlan plan(String id) throws ContainerException {
        String folder = holder.base() + folder(id);
        Path view = holder.view(folder(id));
        makeFolders(view, "", "upper", "work", "run", "engine", "sys");
        MountPlan made = new MountPlan(bareRoot(), holder.base(), folder, view, nodeMounts());
        boolean writable =
                spec.writable() || entry.filter(RootEntry::needsWritableRoot).isPresent();
        if (holder.isNamed()) {
            made.named(writable);
        } else {
            made.overlay(holder.base() + points(), writable, !account.isRoot());
        }
        made.system(holder.namespaces().contains(UnsharedNamespace.NET));
        made.temporary(holder.base() + temporary(), holder.view(temporary()));
        made.user(spec, account);
        for (HostFolder each : needed) {
            made.needed(each, !account.isRoot());
        }
        return made;
    }

    private static NodeMounts nodeMounts() throws ContainerException {
        try {
            return NodeMounts.read();
        } catch (IOException e) {
            throw new ContainerException("the node's mounts cannot be read: " + e.getMessage(), e);
        }
    }

    /** Makes a folder ("") and folders in this folder. */
    static void makeFolders(Path parent, String... names) throws ContainerException {
        try {
            for (String name : names) {
                Files.createDirectory(parent.resolve(name));
            }
        } catch (IOException e) {
            throw new ContainerException("the writable layer of a worker cannot be made: " + e.getMessage(), e);
        }
    }

    private static void setMode(Path folder, int mode) throws ContainerException {
        try {
            Files.setAttribute(folder, "unix:mode", mode);
        } catch (IOException e) {
            throw new ContainerException("the writable layer of a worker cannot be made: " + e.getMessage(), e);
        }
    }

    @Override
    public ImageSettings image() {
        return image;
    }

    @Override
    public void add(HostFolder folder) throws ContainerException {
        if (!needed.contains(folder)) {
            plan.needed(folder, !account.isRoot());
            needed.add(folder);
        }
    }

    @Override
    public String resolve(String path) throws ContainerException {
        return plan.root().resolve(path, true);
    }

    @Override
    public Optional<Path> find(String path) throws ContainerException {
        Path found = plan.root().find(path);
        return Files.exists(found, LinkOption.NOFOLLOW_LINKS) ? Optional.of(found) : Optional.empty();
    }

    @Override
    public List<String> command(WorkerRequest worker) throws ContainerException {
        MountPlan made = plan(worker.id());
        Optional<NvidiaDriver> driver = entry.filter(RootEntry::mountsGpuDriver).isPresent()
                ? Optional.empty()
                : NvidiaDriver.of(worker.environment());
        boolean byTool = driver.isPresent()
                && spec.writable()
                && NvidiaDriver.tool(node.environment()).isPresent();
        if (driver.isPresent() && !byTool) {
            made.driver(driver.get().files(made.root(), node.environment()));
        }
        ProgramCheck.check(made.root(), worker);
        try {
            Files.writeString(holder.view(folder(worker.id()) + "/fstab"), made.fstab());
        } catch (IOException e) {
            throw new ContainerException(
                    "the file with the mounts of a worker cannot be written:" + " " + e.getMessage(), e);
        }
        return new EnterCommand(tools, account, spec, node, entry)
                .words(
                        holder,
                        holder.base() + folder(worker.id()),
                        made.unmounted(),
                        byTool ? driver : Optional.empty(),
                        worker);
    }

    @Override
    public boolean hasOwnPids() {
        return spec.unshare().contains(UnsharedNamespace.PID)
                || entry.filter(RootEntry::hasOwnPids).isPresent();
    }

    @Override
    public void save(String id, Path target) throws ContainerException, InterruptedException {
        String lower = holder.isNamed()
                ? holder.base() + "/named"
                : holder.base() + folder(id) + "/upper:" + holder.base() + "/image";
        new ImageSave(tools, account, node).save(holder, lower, target);
    }

    @Override
    public void remove(String id) {
        deleteTree(holder.view(folder(id)));
    }

    /**
     * Deletes a folder. Files that cannot be deleted end with the namespace. An example is the kernel's work folder of
     * an overlay.
     */
    private static void deleteTree(Path folder) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
                    deleteTree(file);
                } else {
                    Files.delete(file);
                }
            }
            Files.delete(folder);
        } catch (IOException | DirectoryIteratorException e) {
            // The file ends with the namespace.
        }
    }

    @Override
    public void close() {
        RunningContainers.of(node).remove(node.jobNames(), holder);
        remove(PLAN_ONLY);
        if (hasOwnPoints()) {
            deleteTree(holder.view(points()));
        }
        if (isOwnTemporary()) {
            deleteTree(holder.view(temporary()));
        }
        holder.close();
    }
}
