package io.jrun.agent.container;

import io.jrun.agent.container.ContainerMount.Kind;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The flags of a mount: flags of mount(8) and fstab(5) that apply to containers, and Enroot's {@code x-create} and
 * {@code x-detach}. Mounts are always private: other processes do not see the mounts of a worker.
 */
public final class MountFlags {
    private static final String COMMON = "ro|rw|exec|noexec|nosuid|nodev|atime|noatime|relatime|nodiratime";
    private static final String PROPAGATION = "private|rprivate|unbindable|runbindable";
    private static final Pattern BIND =
            Pattern.compile(COMMON + "|bind|rbind|" + PROPAGATION + "|nofail|x-create=(?:auto|dir|file|none)");
    private static final Pattern TMPFS = Pattern.compile(COMMON
            + "|" + PROPAGATION
            + "|huge=(?:never|always|within_size|advise)|size=[0-9]{1,18}[kKmMgG%]?|nr_inodes=[0-9]{1,18}[kKmMgG]?"
            + "|mode=[0-7]{3,4}|x-create=(?:auto|dir)");
    private static final Pattern UMOUNT = Pattern.compile("x-detach");

    /** Flags that mount(8) does not get: flags that always hold, and flags for making the mount point. */
    private static final List<String> NOT_OF_MOUNT = List.of("bind", "rbind", "private", "rprivate", "nofail");

    private MountFlags() {}

    static void check(Kind kind, String flag, String entry) {
        Pattern known = switch (kind) {
            case BIND -> BIND;
            case TMPFS -> TMPFS;
            case UMOUNT -> UMOUNT;
        };
        if (!known.matcher(flag).matches()) {
            throw ContainerMount.refused(entry, "the flag '" + flag + "' is not known for this mount; " + list(kind));
        }
    }

    private static String list(Kind kind) {
        return switch (kind) {
            case BIND ->
                "the flags are ro, rw, bind, rbind, private, rprivate, unbindable, runbindable, exec, noexec, nosuid, nodev, atime, noatime, "
                        + "relatime, nodiratime, nofail and x-create=auto|dir|file|none, joined by +";
            case TMPFS ->
                "the flags are size=, nr_inodes=, mode=, huge=never|always|within_size|advise, ro, rw, exec, noexec, nosuid,"
                        + " nodev, atime, noatime, relatime, "
                        + "nodiratime, private, rprivate, unbindable, runbindable and x-create=auto|dir, joined by +";
            case UMOUNT -> "the only flag is x-detach";
        };
    }

    /** The flags that mount(8) gets. */
    public static List<String> ofMount(List<String> flags) {
        return flags.stream()
                .filter(flag -> !NOT_OF_MOUNT.contains(flag) && !flag.startsWith("x-"))
                .toList();
    }
}
