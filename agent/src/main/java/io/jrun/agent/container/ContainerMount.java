package io.jrun.agent.container;

import java.util.ArrayList;
import java.util.List;

/**
 * One entry of {@code --container-mounts=SRC[:DST[:FLAGS]],...}. A comma or a colon in a path cannot be written, as in
 * Pyxis.
 *
 * @param kind the kind of the mount
 * @param source of a bind mount: a path on the node; else empty
 * @param target absolute path inside the container, without {@code .} and {@code ..}
 * @param flags in the order given
 */
public record ContainerMount(Kind kind, String source, String target, List<String> flags) {
    /** The kind of a mount. */
    public enum Kind {
        /** A file or folder of the node. */
        BIND,
        /** A file system in memory. */
        TMPFS,
        /** No mount: removes the mount at the path. */
        UMOUNT
    }

    /** Copies the list. */
    public ContainerMount {
        flags = List.copyOf(flags);
    }

    /**
     * Reads a whole option.
     *
     * @throws ContainerFormatException if an entry has another form
     */
    public static List<ContainerMount> parseAll(String text) {
        List<ContainerMount> mounts = new ArrayList<>();
        for (String entry : text.split(",", -1)) {
            mounts.add(parse(entry));
        }
        return List.copyOf(mounts);
    }

    /** @throws ContainerFormatException if the text is not one entry */
    static ContainerMount parse(String entry) {
        List<String> fields = List.of(entry.split(":", -1));
        if (fields.size() > 3 || fields.contains("")) {
            throw refused(entry, "an entry is SRC, SRC:DST or SRC:DST:FLAGS");
        }
        String source = fields.getFirst();
        Kind kind = kind(entry, source);
        if (kind != Kind.BIND && fields.size() < 2) {
            throw refused(entry, source + " needs the path inside the container, as " + source + ":/scratch");
        }
        String target = target(entry, fields.size() > 1 ? fields.get(1) : source);
        List<String> flags =
                fields.size() < 3 ? List.of() : List.of(fields.get(2).split("\\+", -1));
        flags.forEach(flag -> MountFlags.check(kind, flag, entry));
        return new ContainerMount(kind, kind == Kind.BIND ? source : "", target, flags);
    }

    private static Kind kind(String entry, String source) {
        if (source.startsWith("/") || source.startsWith(".")) {
            return Kind.BIND;
        }
        return switch (source) {
            case "tmpfs" -> Kind.TMPFS;
            case "umount" -> Kind.UMOUNT;
            default -> throw refused(entry, "a source begins with / or ./, or is tmpfs or umount");
        };
    }

    private static String target(String entry, String text) {
        if (text.indexOf('\0') >= 0 || text.indexOf('\n') >= 0) {
            throw refused(entry, "a path is one line");
        }
        if (!text.startsWith("/")) {
            throw refused(entry, "the path inside the container must begin with /");
        }
        StringBuilder clean = new StringBuilder();
        for (String name : text.split("/", -1)) {
            if (name.equals("..")) {
                throw refused(entry, "the path inside the container must not contain '..'");
            }
            if (!name.isEmpty() && !name.equals(".")) {
                clean.append('/').append(name);
            }
        }
        if (clean.isEmpty()) {
            throw refused(entry, "nothing can be mounted over the container's root");
        }
        return clean.toString();
    }

    /** Whether a flag was given. */
    public boolean has(String flag) {
        return flags.contains(flag);
    }

    /** The text of the option. */
    public String text() {
        String head = kind == Kind.BIND ? source : kind == Kind.TMPFS ? "tmpfs" : "umount";
        return head + ":" + target + (flags.isEmpty() ? "" : ":" + String.join("+", flags));
    }

    static ContainerFormatException refused(String entry, String rule) {
        return new ContainerFormatException("the mount '" + entry + "': " + rule);
    }
}
