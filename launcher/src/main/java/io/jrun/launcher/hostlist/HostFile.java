package io.jrun.launcher.hostlist;

import io.jrun.launcher.job.Cluster.Host;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A file with a host on each line: {@code node1 slots=8} (Open MPI, DeepSpeed), {@code node1:8} (MPICH), or {@code
 * node1}, once for each slot (PBS, LSF, Grid Engine). {@code #} and {@code //} begin a comment, which may also stand
 * between {@code /*} and its end. Stateless.
 */
public final class HostFile {
    private static final String END_OF_COMMENT = "*/";

    private HostFile() {}

    /**
     * Returns the hosts of the lines, in order.
     *
     * @throws HostSyntaxException with the number of the first unreadable line
     */
    public static List<Host> parse(List<String> lines) {
        List<Host> hosts = new ArrayList<>();
        Map<String, Host> firsts = new HashMap<>();
        List<String> texts = withoutComments(lines);
        for (int i = 0; i < texts.size(); i++) {
            String line = joined(texts.get(i));
            if (line.isEmpty()) {
                continue;
            }
            try {
                List<Host> more = HostFileLine.hosts(line);
                more.forEach(host -> refuseSecondCount(firsts.putIfAbsent(host.name(), host), host));
                HostList.add(hosts, more);
            } catch (HostSyntaxException e) {
                throw new HostSyntaxException("line " + (i + 1) + ": " + e.getMessage());
            }
        }
        return RepeatedHosts.merged(hosts);
    }

    /** A name alone may be repeated. A second line with a number is a mistake, for Open MPI and DeepSpeed too. */
    private static void refuseSecondCount(@Nullable Host first, Host second) {
        if (first != null && (first.slots().isPresent() || second.slots().isPresent())) {
            throw new HostSyntaxException("host '" + second.name() + "' is named a second time; name it once, with all"
                    + " its workers (" + second.name() + " slots="
                    + (first.slots().orElse(1) + second.slots().orElse(1)) + "), or each time without a number");
        }
    }

    private static List<String> withoutComments(List<String> lines) {
        List<String> texts = new ArrayList<>();
        int opened = 0;
        for (String line : lines) {
            StringBuilder text = new StringBuilder();
            String rest = line;
            while (!rest.isEmpty()) {
                if (opened > 0) {
                    int end = rest.indexOf(END_OF_COMMENT);
                    rest = end < 0 ? "" : " " + rest.substring(end + END_OF_COMMENT.length());
                    opened = end < 0 ? opened : 0;
                    continue;
                }
                int block = rest.indexOf("/*");
                String before = (block < 0 ? rest : rest.substring(0, block)).replaceFirst("(#|//).*", "");
                text.append(before);
                boolean opens = block >= 0 && before.length() == block; // not behind another comment
                opened = opens ? texts.size() + 1 : 0;
                rest = opens ? rest.substring(block + 2) : "";
            }
            texts.add(text.toString());
        }
        if (opened > 0) {
            throw new HostSyntaxException("line " + opened + ": the comment has no end, " + END_OF_COMMENT);
        }
        return texts;
    }

    /** Normalises blanks: one blank between two words, no blank beside an equals sign. */
    private static String joined(String line) {
        StringBuilder joined = new StringBuilder();
        for (String word : line.strip().split("\\s+", -1)) {
            boolean apart = !joined.isEmpty() && joined.charAt(joined.length() - 1) != '=' && !word.startsWith("=");
            joined.append(apart ? " " : "").append(word);
        }
        return joined.toString();
    }
}
