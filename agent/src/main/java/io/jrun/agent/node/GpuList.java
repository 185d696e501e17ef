package io.jrun.agent.node;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Reads the list of GPUs in {@code CUDA_VISIBLE_DEVICES} and in variables with the same form: indices, UUIDs that may be
 * shortened ({@code GPU-8f3a}), or names of MIG slices. CUDA hides GPUs without a message if an entry is unusable, so
 * such a list is an error here. Source: CUDA C++ Programming Guide, environment variables. Stateless.
 */
final class GpuList {
    private static final Pattern INDEX = Pattern.compile("[0-9]{1,4}");
    private static final Pattern UUID = Pattern.compile("GPU-[0-9a-fA-F-]{1,36}");

    /** The second form is the form of drivers before 470: the GPU, the GPU instance and the compute instance. */
    private static final Pattern SLICE =
            Pattern.compile("MIG-(?:[0-9a-fA-F-]{1,36}|GPU-[0-9a-fA-F-]{1,36}/[0-9]{1,3}/[0-9]{1,3})");

    /** Values that name no GPU: NoDevFiles is Slurm's, none and void are the container toolkit's. */
    private static final Set<String> NOTHING = Set.of("NoDevFiles", "none", "void");

    private GpuList() {}

    /**
     * The entries as given. As in CUDA the list ends at an empty or negative entry.
     *
     * @param variable the name of the variable, for the error
     */
    static List<String> parse(String variable, String text) throws GpuListException {
        List<String> entries = new ArrayList<>();
        if (NOTHING.contains(text.strip())) {
            return entries;
        }
        for (String word : text.split(",", -1)) {
            String entry = word.strip();
            if (entry.isEmpty() || entry.startsWith("-")) {
                break;
            }
            if (!isUsable(entry)) {
                throw refused(variable, text, "'" + entry + "' names no GPU");
            }
            if (!entries.isEmpty() && kind(entry) != kind(entries.getFirst())) {
                throw refused(variable, text, "'" + entries.getFirst() + "' and '" + entry + "' have different forms");
            }
            for (String other : entries) {
                if (mayBeEqual(entry, other)) {
                    throw refused(
                            variable,
                            text,
                            entry.equals(other)
                                    ? "'" + entry + "' comes twice"
                                    : "'" + other + "' and '" + entry + "' name the same GPU");
                }
            }
            entries.add(entry);
        }
        return entries;
    }

    /**
     * Checks that a machine has the GPUs of {@code entries}.
     *
     * @param gpus the number of GPUs that this process may open
     * @param uuids of all GPUs of the machine; empty if unknown
     */
    static void check(String variable, List<String> entries, int gpus, List<String> uuids) throws GpuListException {
        String text = String.join(",", entries);
        for (String entry : entries) {
            if (INDEX.matcher(entry).matches() && Integer.parseInt(entry) >= gpus) {
                throw refused(
                        variable,
                        text,
                        "this node has no GPU " + entry + ", it has "
                                + (gpus == 1 ? "GPU 0 alone" : "0 to " + (gpus - 1)));
            }
            if (entry.startsWith("GPU-") && !uuids.isEmpty()) {
                long found =
                        uuids.stream().filter(uuid -> startsWith(uuid, entry)).count();
                if (found != 1) {
                    throw refused(
                            variable, text, "'" + entry + "' fits " + found + " of the " + uuids.size() + " GPUs here");
                }
            }
        }
    }

    /** Whether the text names GPUs, and not all or none of them. */
    static boolean names(String text) {
        return !text.isBlank() && !text.equals("all") && !NOTHING.contains(text);
    }

    /** Reads Slurm's list of GPUs, such as {@code 0,2-3}; empty if it has another form. */
    static List<String> slurmIndices(String text) {
        return text.matches("[0-9]{1,4}(?:-[0-9]{1,4})?(?:,[0-9]{1,4}(?:-[0-9]{1,4})?)*")
                ? CpuMap.list(text).stream().map(String::valueOf).toList()
                : List.of();
    }

    static boolean isIndex(String entry) {
        return INDEX.matcher(entry).matches();
    }

    static boolean startsWith(String uuid, String beginning) {
        return uuid.toLowerCase(Locale.ROOT).startsWith(beginning.toLowerCase(Locale.ROOT));
    }

    private static boolean isUsable(String entry) {
        return INDEX.matcher(entry).matches()
                || UUID.matcher(entry).matches()
                || SLICE.matcher(entry).matches();
    }

    /** The first character, which differs between the three forms, or 0 for all indices. */
    private static char kind(String entry) {
        return Character.isDigit(entry.charAt(0)) ? '0' : entry.charAt(0);
    }

    private static boolean mayBeEqual(String entry, String other) {
        if (isIndex(entry)) {
            return Integer.parseInt(entry) == Integer.parseInt(other);
        }
        boolean mayBeShortened = entry.startsWith("GPU-");
        return entry.equalsIgnoreCase(other)
                || (mayBeShortened && (startsWith(entry, other) || startsWith(other, entry)));
    }

    private static GpuListException refused(String variable, String text, String why) {
        return new GpuListException(variable + "=" + text + ": " + why + ". CUDA would hide GPUs without a message."
                + " Give each GPU once: indices (0,1), UUIDs (GPU-8f3a...) or MIG names (MIG-...)");
    }
}
